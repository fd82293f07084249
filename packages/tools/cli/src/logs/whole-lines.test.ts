import { expect, test } from '@jest/globals';
import * as fc from 'fast-check';
import { WholeLines } from './whole-lines.ts';

function shown(prefix: string, pieces: readonly string[]): string[] {
  const lines = new WholeLines(prefix);
  return [...pieces.map((piece) => lines.add(Buffer.from(piece))), lines.end()].map(String);
}

test.each([
  ['', ['a\nb', 'c\n', 'd'], ['a\n', 'bc\n', '', 'd']],
  ['> ', ['a\nb', 'c\n\n', 'd'], ['> a\n', '> bc\n> \n', '', '> d']],
  ['> ', [], ['']],
])('with prefix %j, %j is printed as %j', (prefix, pieces, expected) => {
  expect(shown(prefix, pieces)).toEqual(expected);
});

test('a long line that arrives in pieces gets one prefix', () => {
  const long = 'x'.repeat(100_000);
  expect(shown('> ', [long, 'y', '\nz\n'])).toEqual([`> ${long}`, '', 'y\n> z\n', '']);
});

test('the text does not depend on how it is split', () => {
  fc.assert(
    fc.property(fc.array(fc.string({ unit: fc.constantFrom('a', '\n') })), (pieces) => {
      const text = pieces.join('');
      expect(shown('', pieces).join('')).toBe(text);
      expect(shown('> ', pieces).join('')).toBe(text.replace(/^(?=[\s\S])/gm, '> '));
    }),
  );
});
