import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { formatGoDuration, parseGoDuration } from '../src/index.ts';

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

  test('a formatted duration is parsed as the same value', () => {
    fc.assert(
      fc.property(fc.integer({ min: -(2 ** 33), max: 2 ** 33 }), fc.constantFrom(1, 0.001), (amount, unit) => {
        const ms = Math.round(amount * unit * 1000) / 1000;
        expect(parseGoDuration(formatGoDuration(ms))).toBeCloseTo(ms, 3);
      }),
    );
  });
});
