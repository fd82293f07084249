import type { NodeSignal, NodeThreshold, PressureReading } from '@kubus/contracts';
import { type PressureState, thresholdsMet } from './pressure.ts';
import { type Observation, type Observations, type Signal, SIGNALS } from './signals.ts';
import { type Threshold, amountOf, amountText, thresholdKey } from './thresholds.ts';

const NANO = 1e9;

/** The shortest time between a first and a last reading from which a slope is computed, in milliseconds. */
const SPAN_MS = 5_000;

const signals = Object.keys(SIGNALS) as Signal[];
const timeOf = (ms: number): string => new Date(ms).toISOString();

/** The longest time before the newest reading from which a slope is computed, in milliseconds. */
const SLOPE_MS = 60_000;

/** What the node has left, and how that has changed over the last minute of these readings, the newest last. */
export function signalsSeen(readings: readonly Observations[]): NodeSignal[] {
  return signals.flatMap((signal) => {
    const seen = readings.flatMap((one) => one[signal] ?? []);
    const newest = seen.at(-1);
    if (newest === undefined) return [];
    const { available, capacity, atMs } = newest;
    const perSecond = slopeOf(seen.filter((one) => atMs - one.atMs <= SLOPE_MS));
    return [{ signal, available, capacity, readAt: timeOf(atMs), ...(perSecond !== undefined && { perSecond }) }];
  });
}

/** What was left at each of these readings, as messages contain it. */
export function readingsOf(readings: readonly Observations[]): PressureReading[] {
  return readings.flatMap((reading) => {
    const seen = signals.flatMap((signal) => {
      const observed = reading[signal];
      return observed === undefined ? [] : [{ signal, ...observed }];
    });
    if (seen.length === 0) return [];
    return {
      readAt: timeOf(Math.max(...seen.map(({ atMs }) => atMs))),
      available: Object.fromEntries(seen.map(({ signal, available }) => [signal, available])),
    };
  });
}

/** The thresholds, with the time that is left until each at the present slope. */
export function thresholdsAhead(
  thresholds: readonly Threshold[],
  state: Pick<PressureState, 'since'>,
  seen: readonly NodeSignal[],
): NodeThreshold[] {
  return thresholds.map((one) => {
    const { signal, value, graceMs, minimumReclaim } = one;
    const observed = seen.find((other) => other.signal === signal);
    const isShare = 'share' in value;
    const amount =
      isShare && observed === undefined ? undefined : Number(amountOf(value, observed ?? { capacity: 0 }).nano) / NANO;
    const since = state.since.get(thresholdKey(one));
    const secondsLeft = amount === undefined || observed === undefined ? undefined : secondsTo(amount, observed);
    return {
      ...{ signal, value: amountText(value), graceSeconds: graceMs / 1000 },
      ...(amount !== undefined && { amount }),
      ...(minimumReclaim !== undefined && { minimumReclaim: amountText(minimumReclaim) }),
      ...(since !== undefined && { since: timeOf(since) }),
      ...(secondsLeft !== undefined && { secondsLeft }),
    };
  });
}

/** The signal for which a pod would go first: one that is below its threshold, else the one with the smallest part left above it. */
export function nearestSignal(thresholds: readonly Threshold[], observations: Observations): Signal | undefined {
  const met = thresholdsMet(thresholds, observations, false)[0];
  if (met !== undefined) return met.signal;
  const left = thresholds.flatMap(({ signal, value }) => {
    const observed = observations[signal];
    if (observed === undefined) return [];
    const amount = Number(amountOf(value, observed).nano) / NANO;
    return [{ signal, part: (observed.available - amount) / Math.max(1, observed.capacity) }];
  });
  return left.toSorted((a, b) => a.part - b.part)[0]?.signal ?? thresholds[0]?.signal;
}

function secondsTo(amount: number, { available, perSecond }: NodeSignal): number | undefined {
  if (available < amount) return 0;
  return perSecond === undefined || perSecond >= 0 ? undefined : (available - amount) / -perSecond;
}

/** Of a straight line through the readings (least squares), in units a second. */
function slopeOf(seen: readonly Observation[]): number | undefined {
  const [first, last] = [seen[0], seen.at(-1)];
  if (first === undefined || last === undefined || last.atMs - first.atMs < SPAN_MS) return undefined;
  const points = seen.map(({ atMs, available }) => ({ x: (atMs - first.atMs) / 1000, y: available - first.available }));
  const mean = (of: (point: { x: number; y: number }) => number) =>
    points.reduce((sum, point) => sum + of(point), 0) / points.length;
  const [x, y] = [mean((point) => point.x), mean((point) => point.y)];
  const spread = mean((point) => (point.x - x) ** 2);
  return mean((point) => (point.x - x) * (point.y - y)) / spread;
}
