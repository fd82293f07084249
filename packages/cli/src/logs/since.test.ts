import { expect, test } from '@jest/globals';
import { parseDuration, sinceTime } from './since.ts';

test.each([
  ['5s', 5_000_000_000n],
  ['1h30m', 5_400_000_000_000n],
  ['1.5h', 5_400_000_000_000n],
  ['100ms', 100_000_000n],
  ['2us3ns', 2_003n],
  ['0s', 0n],
  ['', undefined],
  ['5', undefined],
  ['1d', undefined],
  ['-5s', undefined],
  ['5s ', undefined],
])('the duration %j is %s ns', (text, nanos) => {
  expect(parseDuration(text)).toBe(nanos);
});

test('the beginning is counted back from now, or named', () => {
  expect(sinceTime({}, 5_000)).toBeUndefined();
  expect(sinceTime({ since: 2_000_000_001n }, 5_000)).toBe('1970-01-01T00:00:02.999999999Z');
  expect(sinceTime({ since: 6_000_000_000n }, 5_000)).toBe('1970-01-01T00:00:00.000000000Z');
  expect(sinceTime({ sinceTime: '1970-01-01T00:00:01.5Z' }, 5_000)).toBe('1970-01-01T00:00:01.5Z');
});
