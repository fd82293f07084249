import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { difference, mean, median } from '../src/index.ts';
import { Random } from '@kubus/ports';

const values = fc.array(fc.double({ min: 0, max: 1e4, noNaN: true }), { minLength: 1, maxLength: 8 });
const runs = fc.array(values, { minLength: 1, maxLength: 6 });

describe('the middle of values', () => {
  test.each([
    [[3], 3, 3],
    [[1, 9], 5, 5],
    [[9, 1, 2], 4, 2],
    [[4, 1, 3, 100], 27, 3.5],
  ])('of %j is the mean %d and the median %d', (numbers, average, middle) => {
    expect([mean(numbers), median(numbers)]).toEqual([average, middle]);
  });

  test('of no values is undefined', () => {
    expect([mean([]), median([])]).toEqual([Number.NaN, Number.NaN]);
  });
});

describe('the difference of two arms', () => {
  test('lies within its interval for constant values, and moves with the second arm', () => {
    fc.assert(
      fc.property(runs, fc.integer({ min: -500, max: 500 }), (arm, shift) => {
        const shifted = arm.map((run) => run.map((value) => value + shift));
        const same = difference(arm, arm, median, new Random(1));
        const moved = difference(arm, shifted, median, new Random(1));
        expect(moved?.estimate).toBeCloseTo(shift, 6);
        expect((moved?.low ?? Number.NaN) - shift).toBeCloseTo(same?.low ?? Number.NaN, 6);
        expect((moved?.high ?? Number.NaN) - shift).toBeCloseTo(same?.high ?? Number.NaN, 6);
        expect(same?.low).toBeLessThanOrEqual(1e-9);
        expect(same?.high).toBeGreaterThanOrEqual(-1e-9);
      }),
      { numRuns: 4 },
    );
  });

  test('is found among noise: its interval contains it about as often as its confidence level says', () => {
    const random = new Random(42);
    const noise = () => Array.from({ length: 4 }, () => random.fraction() * 100);
    const arm = (shift: number) => Array.from({ length: 8 }, () => noise().map((value) => value + shift));
    const rounds = 40;
    let held = 0;
    for (let round = 0; round < rounds; round++) {
      const { low, high } = difference(arm(0), arm(30), mean, random) ?? { low: 0, high: 0 };
      if (low <= 30 && 30 <= high) held += 1;
    }
    // Percentile intervals of few runs are a little too narrow.
    expect(held / rounds).toBeGreaterThan(0.8);
    expect(held).toBeLessThanOrEqual(rounds);
  });

  test('has an interval as wide as the runs differ, not as narrow as the number of values suggests', () => {
    const run = (value: number) => Array.from({ length: 100 }, () => value);
    const differing = [run(0), run(100), run(200)];
    const { low, high } = difference(differing, differing, mean, new Random(1)) ?? { low: 0, high: 0 };
    expect(high - low).toBeGreaterThan(150);
  });

  test('is undefined without values; a run without measurements does not count', () => {
    expect(difference([[]], [[1]], mean, new Random(1))).toBeUndefined();
    expect(difference([], [[1]], mean, new Random(1))).toBeUndefined();
    expect(difference([[1], []], [[3]], median, new Random(1))).toEqual({ estimate: 2, low: 2, high: 2 });
  });

  test('is the same for the same seed', () => {
    fc.assert(
      fc.property(runs, runs, fc.nat(), (one, other, seed) => {
        expect(difference(one, other, mean, new Random(seed))).toEqual(difference(one, other, mean, new Random(seed)));
      }),
      { numRuns: 5 },
    );
  });
});
