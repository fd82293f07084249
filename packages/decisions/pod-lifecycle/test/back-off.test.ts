import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import {
  type BackOffEntry,
  type CrashLoopOptions,
  backOffLimits,
  backOffRemaining,
  crashLoopKey,
  crashLoopLimits,
  isLetThrough,
  lengthenBackOff,
} from '../src/index.ts';

describe('the back-off', () => {
  test('is 0, 10, 20, 40, ... 300, 300 seconds for a container that always ends at once', () => {
    let entry: BackOffEntry | undefined;
    let now = 1_000_000;
    const waits: number[] = [];
    for (let i = 0; i < 8; i++) {
      const endedAt = now;
      const wait = backOffRemaining(entry, endedAt, now);
      waits.push(wait / 1000);
      now += wait;
      entry = lengthenBackOff(entry, endedAt, now);
    }
    expect(waits).toEqual([0, 10, 20, 40, 80, 160, 300, 300]);
  });

  test('starts again after ten minutes without an event', () => {
    const entry = { waitMs: 160_000, updatedAt: 0 };
    const quiet = 600_000;
    expect(backOffRemaining(entry, quiet, quiet)).toBe(160_000);
    expect(backOffRemaining(entry, quiet + 1, quiet + 1)).toBe(0);
    expect(lengthenBackOff(entry, quiet + 1, quiet + 1).waitMs).toBe(10_000);
  });

  test('allows an attempt again that was allowed and not made, but not the next one', () => {
    const entry = { ...lengthenBackOff(undefined, 0, 0), attempt: 3 };
    expect([2, 3, 4].map((attempt) => isLetThrough(entry, attempt))).toEqual([false, true, false]);
    expect(isLetThrough(lengthenBackOff(entry, 0, 0), 3)).toBe(false);
    expect(isLetThrough(undefined, 0)).toBe(false);
  });

  test('is never longer than the limit and never negative', () => {
    const time = fc.integer({ min: 0, max: 10_000_000 });
    fc.assert(
      fc.property(fc.array(fc.tuple(time, time), { maxLength: 20 }), (steps) => {
        let entry: BackOffEntry | undefined;
        for (const [eventAt, now] of steps) {
          expect(backOffRemaining(entry, eventAt, Math.max(now, eventAt))).toBeGreaterThanOrEqual(0);
          expect(backOffRemaining(entry, eventAt, Math.max(now, eventAt))).toBeLessThanOrEqual(backOffLimits.maxMs);
          entry = lengthenBackOff(entry, eventAt, now);
        }
      }),
    );
  });

  test.each<[string, CrashLoopOptions, number[]]>([
    ['by default', {}, [10, 20, 40, 80, 160, 300, 300]],
    ['with the slower decay', { reducedDecay: true }, [1, 2, 4, 8, 16, 32, 60, 60]],
    ['with a maximum delay', { maxRestartPeriodMs: 30_000 }, [10, 20, 30, 30]],
    ['with a maximum below the first delay', { maxRestartPeriodMs: 2_000 }, [2, 2]],
    ['with both, up to the maximum delay', { reducedDecay: true, maxRestartPeriodMs: 5_000 }, [1, 2, 4, 5, 5]],
  ])('of restarts %s grows up to its maximum', (_name, options, seconds) => {
    let entry: BackOffEntry | undefined;
    const waits = seconds.map(() => {
      entry = lengthenBackOff(entry, 0, 0, crashLoopLimits(options));
      return entry.waitMs / 1000;
    });
    expect(waits).toEqual(seconds);
    expect(crashLoopLimits(options).quietMs).toBe(600_000);
  });

  test('with a short maximum is not reset earlier', () => {
    const entry = { waitMs: 1_000, updatedAt: 0 };
    expect(backOffRemaining(entry, 500_000, 500_000, crashLoopLimits({ maxRestartPeriodMs: 1_000 }))).toBe(1_000);
  });

  test('has a key that changes with a container’s image and resources, not with the order of their fields', () => {
    const requests = { cpu: '1', memory: '1Gi' };
    const base = crashLoopKey({ name: 'c', image: 'a', resources: { requests } });
    expect(crashLoopKey({ name: 'c', image: 'a', resources: { requests: { memory: '1Gi', cpu: '1' } } })).toBe(base);
    const others = [
      { name: 'd', image: 'a', resources: { requests } },
      { name: 'c', image: 'b', resources: { requests } },
      { name: 'c', image: 'a', resources: { limits: requests } },
      { name: 'c', image: 'a', resources: { requests: { ...requests, cpu: '2' } } },
    ].map(crashLoopKey);
    expect(new Set([base, ...others]).size).toBe(5);
  });
});
