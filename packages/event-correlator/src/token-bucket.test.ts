import { expect, test } from '@jest/globals';
import { TokenBucket } from './token-bucket.ts';

test('a burst passes at once; what follows gets turns one after the other', () => {
  const bucket = new TokenBucket({ qps: 50, burst: 3 });
  const waits = Array.from({ length: 6 }, () => bucket.reserve(0, 1_000));
  expect(waits).toEqual([0, 0, 0, 20, 40, 60]);
  // Two of the three promised turns have come since.
  expect(bucket.reserve(50, 1_000)).toBeCloseTo(30);
});

test('a turn that is too far away is not taken', () => {
  const bucket = new TokenBucket({ qps: 1, burst: 1 });
  expect([bucket.reserve(0, 0), bucket.reserve(0, 999), bucket.reserve(0, 1_000)]).toEqual([0, undefined, 1_000]);
});

test('fills to its burst and no further, and not by a clock that goes back', () => {
  const bucket = new TokenBucket({ qps: 1, burst: 2 });
  expect([bucket.tryTake(1_000_000), bucket.tryTake(1_000_000), bucket.tryTake(1_000_000)]).toEqual([
    true,
    true,
    false,
  ]);
  expect(bucket.tryTake(0)).toBe(false);
  expect([bucket.tryTake(9_000), bucket.tryTake(9_000), bucket.tryTake(9_000)]).toEqual([true, true, false]);
});
