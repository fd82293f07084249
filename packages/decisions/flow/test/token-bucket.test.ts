import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import { TokenBucket } from '../src/index.ts';

test('a token bucket allows a burst at once, and reserves later tokens one after the other', () => {
  const bucket = new TokenBucket({ qps: 50, burst: 3 });
  const waits = Array.from({ length: 6 }, () => bucket.reserve(0, 1_000));
  expect(waits).toEqual([0, 0, 0, 20, 40, 60]);
  // Two of the three reserved tokens are available by now.
  expect(bucket.reserve(50, 1_000)).toBeCloseTo(30);
});

test('a token bucket does not reserve a token that is too far in the future', () => {
  const bucket = new TokenBucket({ qps: 1, burst: 1 });
  expect([bucket.reserve(0, 0), bucket.reserve(0, 999), bucket.reserve(0, 1_000)]).toEqual([0, undefined, 1_000]);
});

test('a token bucket is refilled only up to its burst, and not by a clock that is set back', () => {
  const bucket = new TokenBucket({ qps: 1, burst: 2 });
  expect([bucket.tryTake(1_000_000), bucket.tryTake(1_000_000), bucket.tryTake(1_000_000)]).toEqual([
    true,
    true,
    false,
  ]);
  expect(bucket.tryTake(0)).toBe(false);
  expect([bucket.tryTake(9_000), bucket.tryTake(9_000), bucket.tryTake(9_000)]).toEqual([true, true, false]);
});

test('a token bucket allows a burst, then as many as are refilled over time', () => {
  const bucket = new TokenBucket({ qps: 5, burst: 10 });
  expect(Array.from({ length: 11 }, () => bucket.tryTake(0))).toEqual([...Array<boolean>(10).fill(true), false]);
  expect([199, 200, 200, 60_000].map((now) => bucket.tryTake(now))).toEqual([false, true, false, true]);
});

test('a token bucket never allows more than burst and elapsed time permit', () => {
  const waits = fc.array(fc.integer({ min: 0, max: 500 }), { maxLength: 60 });
  fc.assert(
    fc.property(waits, fc.integer({ min: 1, max: 20 }), fc.integer({ min: 1, max: 20 }), (steps, qps, burst) => {
      const bucket = new TokenBucket({ qps, burst });
      let now = 0;
      let taken = 0;
      for (const step of steps) {
        now += step;
        if (bucket.tryTake(now)) taken += 1;
      }
      expect(taken).toBeLessThanOrEqual(burst + (now / 1000) * qps + 1e-6);
      // A clock that is set back adds no tokens.
      while (bucket.tryTake(now));
      expect(bucket.tryTake(now - 10_000)).toBe(false);
    }),
  );
});
