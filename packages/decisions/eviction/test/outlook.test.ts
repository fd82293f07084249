import { expect, test } from '@jest/globals';
import { type Observations, noPressure, parseThresholds } from '../src/index.ts';
import { nearestSignal, readingsOf, signalsSeen, thresholdsAhead } from '../src/outlook.ts';

const MI = 1024 * 1024;
const START = Date.UTC(2030, 0, 1);
const nothing = { evictionHard: {}, evictionSoft: {}, evictionSoftGracePeriod: {}, evictionMinimumReclaim: {} };
const parsed = (settings: Partial<Parameters<typeof parseThresholds>[0]>) =>
  parseThresholds({ ...nothing, ...settings }, { enforcesPods: false });

/** Readings of free memory, in MiB, ten seconds apart. */
const readings = (...mebibytes: number[]): Observations[] =>
  mebibytes.map((one, index) => ({
    'memory.available': { available: one * MI, capacity: 1000 * MI, atMs: START + index * 10_000 },
  }));

test('the slope is that of the straight line through the readings, and one reading has none', () => {
  expect(signalsSeen(readings(500))).toEqual([
    { signal: 'memory.available', available: 500 * MI, capacity: 1000 * MI, readAt: '2030-01-01T00:00:00.000Z' },
  ]);
  expect(signalsSeen(readings(500, 400, 300))[0]?.perSecond).toBeCloseTo(-10 * MI);
  expect(signalsSeen(readings(500, 380, 320))[0]?.perSecond).toBeCloseTo(-9 * MI);
  expect(signalsSeen([])).toEqual([]);
});

test('readings of more than a minute ago are kept, but have no part in the slope', () => {
  const all = readings(900, 900, 900, 500, 500, 500, 500, 500, 500, 500);
  expect(signalsSeen(all)[0]?.perSecond).toBe(0);
  const shown = readingsOf([{}, ...all]);
  expect(shown).toHaveLength(10);
  expect(shown[0]).toEqual({ readAt: '2030-01-01T00:00:00.000Z', available: { 'memory.available': 900 * MI } });
});

test.each([
  ['falling', [500, 400, 300], 20],
  ['steady', [300, 300], undefined],
  ['rising', [300, 400], undefined],
  ['read once', [300], undefined],
  ['below it already', [120, 90], 0],
])('a signal that is %s reaches its threshold in time', (_name, mebibytes, seconds) => {
  const seen = signalsSeen(readings(...mebibytes));
  const [ahead] = thresholdsAhead(parsed({ evictionHard: { 'memory.available': '100Mi' } }), noPressure, seen);
  expect(ahead).toEqual({
    ...{ signal: 'memory.available', value: '100Mi', amount: 100 * MI, graceSeconds: 0 },
    ...(seconds !== undefined && { secondsLeft: expect.closeTo(seconds, 5) }),
  });
});

test('a threshold shows what it was set to, and since when its signal is below it', () => {
  const thresholds = parsed({
    evictionSoft: { 'memory.available': '1Gi', 'imagefs.available': '15%' },
    evictionSoftGracePeriod: { 'memory.available': '1m30s', 'imagefs.available': '1m' },
    evictionMinimumReclaim: { 'memory.available': '100Mi' },
  });
  const since = new Map([[`memory.available 90000 ${1024n * 1024n * 1024n * 1_000_000_000n}`, START]]);
  expect(thresholdsAhead(thresholds, { since }, [])).toEqual([
    {
      ...{ signal: 'memory.available', value: '1Gi', amount: 1024 * MI, graceSeconds: 90, minimumReclaim: '100Mi' },
      since: '2030-01-01T00:00:00.000Z',
    },
    // A share of a capacity that is not known.
    { signal: 'imagefs.available', value: '15%', graceSeconds: 60 },
  ]);
});

test('the nearest signal is one below its threshold, else the one with the smallest part left', () => {
  const thresholds = parsed({
    evictionHard: { 'memory.available': '100Mi', 'pid.available': '10', 'nodefs.available': '5%' },
  });
  const pids = (available: number): Observations => ({ 'pid.available': { available, capacity: 1000, atMs: START } });
  expect(nearestSignal(thresholds, { ...readings(500)[0], ...pids(900) })).toBe('memory.available');
  expect(nearestSignal(thresholds, { ...readings(500)[0], ...pids(40) })).toBe('pid.available');
  expect(nearestSignal(thresholds, { ...readings(90)[0], ...pids(11) })).toBe('memory.available');
  expect(nearestSignal(thresholds, {})).toBe('memory.available');
  expect(nearestSignal([], readings(1)[0] ?? {})).toBeUndefined();
});
