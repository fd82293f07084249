import { expect, test } from '@jest/globals';
import { systemClock } from '../src/clock.ts';

test('the clock always agrees with the millisecond of the kernel, and is finer', () => {
  const fractions = new Set<number>();
  for (let call = 0; call < 20_000; call += 1) {
    const before = Date.now();
    const now = systemClock.now();
    expect(now >= before && now <= Date.now() + 1).toBe(true);
    fractions.add(now % 1);
  }
  expect(fractions.size).toBeGreaterThan(1_000);
});
