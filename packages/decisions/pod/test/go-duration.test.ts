import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { formatGoDuration, goDurationError, parseGoDuration } from '../src/index.ts';

describe('durations in the notation of Go', () => {
  test.each([
    ['0', 0, '0s'],
    ['0s', 0, '0s'],
    ['-0', 0, '0s'],
    ['1m30s', 90_000, '1m30s'],
    ['59s', 59_000, '59s'],
    ['60s', 60_000, '1m0s'],
    ['3600s', 3_600_000, '1h0m0s'],
    ['1h2m5s', 3_725_000, '1h2m5s'],
    ['4h', 14_400_000, '4h0m0s'],
    ['4320h', 15_552_000_000, '4320h0m0s'],
    ['1.5h', 5_400_000, '1h30m0s'],
    ['-1.5s', -1_500, '-1.5s'],
    ['.5s', 500, '500ms'],
    ['1h1ms', 3_600_001, '1h0m0.001s'],
    ['1500us', 1.5, '1.5ms'],
    ['1500\u00b5s', 1.5, '1.5ms'],
    ['1500\u03bcs', 1.5, '1.5ms'],
    ['2us3ns', 0.002003, '2.003\u00b5s'],
    ['100ns', 0.0001, '100ns'],
    ['+2s', 2_000, '2s'],
  ])('%s is %d ms and is formatted as %s', (text, ms, written) => {
    expect(parseGoDuration(text)).toBe(ms);
    expect(formatGoDuration(ms)).toBe(written);
  });

  test.each(['', '5', '1', '5s ', '1 s', '5x', 's', '1d', '--1s', '1s-', '1e3s', '9999999999h'])(
    '%j is not a duration',
    (text) => {
      expect(parseGoDuration(text)).toBeUndefined();
    },
  );

  test.each([
    ['', 'time: invalid duration ""'],
    ['-', 'time: invalid duration "-"'],
    ['soon', 'time: invalid duration "soon"'],
    ['.s', 'time: invalid duration ".s"'],
    ['1s-', 'time: unknown unit "s-" in duration "1s-"'],
    ['5', 'time: missing unit in duration "5"'],
    ['1m30', 'time: missing unit in duration "1m30"'],
    ['1.5.5s', 'time: missing unit in duration "1.5.5s"'],
    ['1 s', 'time: unknown unit " s" in duration "1 s"'],
    ['1d2h', 'time: unknown unit "d" in duration "1d2h"'],
    ['1toString', 'time: unknown unit "toString" in duration "1toString"'],
    ['9999999999h', 'time: invalid duration "9999999999h"'],
    ['1\u00e4"', 'time: unknown unit "\\xc3\\xa4\\"" in duration "1\\xc3\\xa4\\""'],
  ])('of %j Go says %s', (text, error) => {
    expect([parseGoDuration(text), goDurationError(text)]).toEqual([undefined, error]);
  });

  test('a formatted duration is parsed as the same value', () => {
    fc.assert(
      fc.property(fc.integer({ min: -(2 ** 33), max: 2 ** 33 }), fc.constantFrom(1, 0.001), (amount, unit) => {
        const ms = Math.round(amount * unit * 1000) / 1000;
        expect(parseGoDuration(formatGoDuration(ms))).toBeCloseTo(ms, 3);
      }),
    );
  });
});
