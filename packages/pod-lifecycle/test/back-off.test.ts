import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { type BackOffEntry, backOffLimits, backOffRemaining, formatWait, lengthenBackOff } from '../src/index.ts';

describe('back-off', () => {
  test('a container that always ends at once waits 0, 10, 20, 40, ... 300, 300 seconds', () => {
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

  test('ten quiet minutes forget it', () => {
    const entry = { waitMs: 160_000, updatedAt: 0 };
    const quiet = 2 * backOffLimits.maxMs;
    expect(backOffRemaining(entry, quiet, quiet)).toBe(160_000);
    expect(backOffRemaining(entry, quiet + 1, quiet + 1)).toBe(0);
    expect(lengthenBackOff(entry, quiet + 1, quiet + 1).waitMs).toBe(10_000);
  });

  test('never waits longer than the limit, never less than nothing', () => {
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

  test.each([
    [10_000, '10s'],
    [80_000, '1m20s'],
    [300_000, '5m0s'],
  ])('%i ms reads %s', (ms, text) => expect(formatWait(ms)).toBe(text));
});
