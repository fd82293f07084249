import type { EvictionRanking, NodeSignal, NodeThreshold, PressureReport, RankedPod } from '@kubus/contracts';
import type {
  CurvePoint,
  PressureDocument,
  RankedPodDocument,
  RankingDocument,
  SignalDocument,
  ThresholdDocument,
} from '@kubus/contracts/observatory';
import { amount, isOfBytes } from './amount.ts';

/** What `kubus pressure` and the page show of a node's report, in the same numbers. */
export function pressureDocument(report: PressureReport): PressureDocument {
  const { signals, thresholds, conditions, transitionSeconds, ranking } = report;
  const names = [...new Set([...signals, ...thresholds].map(({ signal }) => signal))];
  return {
    ...{ conditions, transitionSeconds, signals: names.map((name) => signalDocument(name, report)) },
    ...(ranking !== undefined && { ranking: rankingDocument(ranking) }),
  };
}

function signalDocument(name: string, { signals, thresholds, readings = [] }: PressureReport): SignalDocument {
  const seen = signals.find(({ signal }) => signal === name);
  const own = thresholds.filter(({ signal }) => signal === name);
  return {
    signal: name,
    ...(seen !== undefined && { available: amount(name, seen.available), capacity: amount(name, seen.capacity) }),
    ...(seen?.perSecond !== undefined && { change: change(name, seen.perSecond) }),
    thresholds: own.map((one) => thresholdDocument(one, seen)),
    curve: seen === undefined ? [] : readings.flatMap((reading) => pointOf(reading, seen)),
  };
}

function pointOf(
  { readAt, available }: NonNullable<PressureReport['readings']>[number],
  { signal, capacity }: NodeSignal,
): CurvePoint[] {
  const left = available[signal];
  return left === undefined ? [] : [{ at: Date.parse(readAt), part: partOf(left, capacity) }];
}

function thresholdDocument(
  { signal, value, amount: units, graceSeconds, since, secondsLeft }: NodeThreshold,
  seen: NodeSignal | undefined,
): ThresholdDocument {
  return {
    value: value.endsWith('%') && units !== undefined ? `${value} (${amount(signal, units)})` : value,
    ...(units !== undefined && seen !== undefined && { part: partOf(units, seen.capacity) }),
    graceSeconds,
    ...(since !== undefined && { since: Date.parse(since) }),
    ...(secondsLeft !== undefined && { secondsLeft }),
  };
}

/** A ranking for people: the pods in their order, with the numbers that decide it. */
export function rankingDocument({ signal, pods, leftOut }: EvictionRanking): RankingDocument {
  const going = pods.filter(({ critical }) => !critical);
  return { signal, leftOut, pods: pods.map((one) => rankedDocument(signal, one, going.indexOf(one))) };
}

function rankedDocument(
  signal: string,
  { ref: { namespace, name, uid }, exceeds, priority, used, requested }: RankedPod,
  turn: number,
): RankedPodDocument {
  return {
    ...{ namespace, name, uid, aboveRequest: exceeds, priority },
    ...(turn >= 0 && { order: turn + 1 }),
    ...(used !== undefined && { uses: amount(signal, used) }),
    ...(isOfBytes(signal) && { requests: amount(signal, requested) }),
  };
}

function change(signal: string, perSecond: number): string {
  const sign = perSecond < 0 ? '-' : '+';
  return `${sign}${amount(signal, Math.round(Math.abs(perSecond)))}/s`;
}

/** A quota may be smaller than what is used within it. */
function partOf(units: number, capacity: number): number {
  return Math.min(1, Math.max(0, units / Math.max(1, capacity)));
}
