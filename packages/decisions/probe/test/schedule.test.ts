import { describe, expect, test } from '@jest/globals';
import * as fc from 'fast-check';
import { firstAttempt, nextAttempt, probeKinds, spreadOf } from '../src/index.ts';

const S = 1000;
const settings = (delay: number, period: number) => ({ initialDelayMs: delay * S, periodMs: period * S });

describe('the first attempt', () => {
  test.each([
    // kind, delay, period, now, started, expected: seconds
    ['readiness', 0, 10, 100, 100, 100],
    ['readiness', 0, 10, 103, 100, 103],
    ['readiness', 5, 10, 100, 100, 105],
    ['liveness', 0, 10, 100, 100, 110],
    ['liveness', 5, 10, 100, 100, 110],
    ['liveness', 10, 10, 100, 100, 110],
    ['liveness', 11, 10, 100, 100, 120],
    ['startup', 0, 1, 100, 100, 101],
    ['liveness', 0, 10, 125, 100, 130],
    ['liveness', 0, 10, 130, 100, 130],
    // The clock was set back after the container had started.
    ['liveness', 0, 10, 100, 5000, 110],
    ['readiness', 3, 10, 100, 5000, 103],
  ] as const)('%s, delay %i s, every %i s, now %i, started %i: at %i', (kind, delay, period, now, started, at) => {
    const times = { now: now * S, startedAt: started * S };
    expect(firstAttempt(kind, settings(delay, period), times).at).toBe(at * S);
  });

  test.each([
    ['readiness', 0, 0.5, 105],
    ['liveness', 0, 0, 100],
    ['liveness', 12, 0.5, 115],
  ] as const)('%s spread over the period after %i s: %d of it', (kind, delay, spread, at) => {
    const times = { now: 100 * S, startedAt: 100 * S, spread };
    expect(firstAttempt(kind, settings(delay, 10), times).at).toBe(at * S);
  });

  test('is spread only for containers that were started before the prober, and only in the prober’s first period', () => {
    const spread = (now: number, startedAt: number) =>
      spreadOf(10, { now, startedAt, proberStartedAt: 100 }, () => 0.3);
    expect(spread(101, 50)).toBe(0.3);
    expect(spread(109, 99)).toBe(0.3);
    expect(spread(110, 50)).toBeUndefined();
    expect(spread(101, 100)).toBeUndefined();
  });
});

describe('the next attempt', () => {
  test.each([
    ['is at the next tick', 100, 100, 101, 110],
    ['is at the next tick when the last one began late', 100, 104, 105, 110],
    ['is made at once when the last one took longer than a period', 100, 100, 112, 112],
    ['is at the next tick again after that', 100, 112, 113, 120],
    ['is at the anchor before the anchor', 200, 100, 101, 200],
  ])('%s', (_what, anchor, began, now, at) => {
    expect(nextAttempt(anchor * S, 10 * S, began * S, now * S).at).toBe(at * S);
  });
});

test('attempts are never early, and never closer together than the ticks', () => {
  const ms = fc.integer({ min: 0, max: 100_000 });
  const period = fc.integer({ min: 1, max: 100 }).map((seconds) => seconds * S);
  const spread = fc.option(fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }), { nil: undefined });
  fc.assert(
    fc.property(fc.constantFrom(...probeKinds), ms, period, ms, ms, spread, fc.array(ms), (kind, ...rest) => {
      const [initialDelayMs, periodMs, startedAt, waited, part, durations] = rest;
      const now = startedAt + waited;
      let { anchor, at } = firstAttempt(kind, { initialDelayMs, periodMs }, { now, startedAt, spread: part });
      expect(at).toBeGreaterThanOrEqual(Math.max(now, startedAt + initialDelayMs));
      expect(at).toBeLessThan(Math.max(now, startedAt + initialDelayMs) + periodMs * 2);
      for (const duration of durations) {
        const next = nextAttempt(anchor, periodMs, at, at + duration);
        expect(next.at).toBeGreaterThanOrEqual(at + duration);
        // As far as the precision of fractions of a millisecond allows.
        expect(next.at).toBeLessThanOrEqual(at + Math.max(duration, periodMs) + 1e-6);
        ({ anchor, at } = next);
      }
    }),
  );
});
