import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import { KubeError } from '../src/kube-error.ts';
import { type WatchOutcome, type WatchState, afterOutcome } from '../src/watch-state.ts';

const gone = new KubeError('Rejected', 'gone', { status: 410, reason: 'Gone' });
const internal = new KubeError('Rejected', 'internal', { status: 500, reason: 'InternalError' });
const busy = new KubeError('Rejected', 'busy', { status: 429, retryAfterMs: 45_000 });
const away = new KubeError('Unreachable', 'away');

const at = (failures: number, rest: Partial<WatchState> = {}): WatchState => ({
  resourceVersion: '7',
  whole: false,
  fresh: false,
  failures,
  ...rest,
});
const ended = (healthy: boolean, error?: KubeError): WatchOutcome => ({
  kind: 'watch-ended',
  resourceVersion: '8',
  healthy,
  error,
});

test.each<readonly [string, WatchState, WatchOutcome, Partial<WatchState>, number]>([
  [
    'a list: watches from its version',
    at(0),
    { kind: 'listed', resourceVersion: '9' },
    { resourceVersion: '9', fresh: true },
    0,
  ],
  [
    'a list after failures does not reset their count',
    at(3),
    { kind: 'listed', resourceVersion: '9' },
    { failures: 3 },
    0,
  ],
  ['a watch that ended regularly: continues', at(3), ended(true), { resourceVersion: '8', failures: 0 }, 0],
  ['a watch that ends at once: waits', at(0), ended(false), { resourceVersion: '8', failures: 1 }, 800],
  ['broken after good times: waits as for the first time', at(5), ended(true, away), { failures: 1 }, 800],
  ['broken again', at(1), ended(false, away), { resourceVersion: '8', failures: 2 }, 1_600],
  ['broken many times', at(40), ended(false, away), { resourceVersion: '8', failures: 41 }, 15_000],
  [
    'version expired during an outage: lists at once',
    at(20),
    ended(false, gone),
    { resourceVersion: undefined, failures: 20 },
    0,
  ],
  [
    'version expired after successful watches',
    at(0, { fresh: true }),
    ended(true, gone),
    { resourceVersion: undefined },
    0,
  ],
  [
    'forgotten right after the list: waits',
    at(1, { fresh: true }),
    ended(false, gone),
    { resourceVersion: undefined, failures: 2 },
    1_600,
  ],
  ['refused', at(1), ended(false, internal), { resourceVersion: '8', failures: 2 }, 1_600],
  ['refused too often: lists', at(2), ended(false, internal), { resourceVersion: undefined, failures: 3 }, 3_200],
  ['too busy: waits as asked, never lists', at(9), ended(false, busy), { resourceVersion: '8' }, 45_000],
  ['a list that fails', at(0), { kind: 'list-failed', error: away }, { failures: 1 }, 800],
  [
    'a list that is forgotten: in one piece',
    at(0),
    { kind: 'list-failed', error: gone },
    { whole: true, failures: 0 },
    0,
  ],
  [
    'version expired in a list of one page',
    at(0, { whole: true }),
    { kind: 'list-failed', error: gone },
    { failures: 1 },
    800,
  ],
])('%s', (_, state, outcome, after, waitMs) => {
  const next = afterOutcome(state, outcome, 0);
  expect(next.state).toMatchObject(after);
  expect(next.waitMs).toBe(waitMs);
});

test('delays are between 0.8 s and 30 s, with jitter', () => {
  fc.assert(
    fc.property(fc.nat(100), fc.double({ min: 0, max: 1, noNaN: true }), (failures, random) => {
      const { waitMs } = afterOutcome(at(failures), ended(false, away), random);
      expect(waitMs).toBeGreaterThanOrEqual(800);
      expect(waitMs).toBeLessThanOrEqual(30_000);
      const least = afterOutcome(at(failures), ended(false, away), 0).waitMs;
      expect(waitMs).toBeCloseTo(least * (1 + random));
    }),
  );
});
