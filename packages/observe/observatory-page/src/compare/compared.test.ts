import { expect, test } from '@jest/globals';
import type { ComparedStep } from '@kubus/contracts/observatory';
import { countVerdicts, formatSide, parseSide, verdictWords } from './compared.ts';

const step = (verdict: ComparedStep['verdict'], left?: number, right?: number): ComparedStep => ({
  step: 's',
  service: 'a',
  verdict,
  ...(left !== undefined && { left }),
  ...(right !== undefined && { right }),
});

test.each([
  [step('same', 5, 5.2), '= same'],
  [step('slower', 5, 17.3), '▲ slower +12.3 ms'],
  [step('faster', 5, 2), '▼ faster −3.0 ms'],
  [step('missing', 5), '− missing on the right'],
  [step('added', undefined, 5), '+ added on the right'],
])('%j is shown as %s', (compared, words) => {
  expect(verdictWords(compared).replaceAll('\u202f', ' ')).toBe(words);
});

test('verdicts are counted', () => {
  expect(countVerdicts([step('slower'), step('slower'), step('same')])).toEqual({
    same: 1,
    slower: 2,
    faster: 0,
    missing: 0,
    added: 0,
  });
});

test.each(['before', 'before/uid-1', '~live', ''])('the side %p is formatted and parsed back', (text) => {
  expect(formatSide(parseSide(text))).toBe(text);
});

test('a side whose pod is cleared means all pods', () => {
  expect(parseSide('before/')).toEqual({ recording: 'before', pod: undefined });
  expect(formatSide({ recording: '', pod: 'x' })).toBe('');
});
