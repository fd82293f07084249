import type { PressureCondition } from '@kubus/contracts';
import { type Observations, SIGNALS } from './signals.ts';
import { type Threshold, isMet, thresholdKey } from './thresholds.ts';

/** What is remembered from one pass to the next. Times are milliseconds since the Unix epoch. */
export interface PressureState {
  /** By {@link thresholdKey}: since when the signal has been below the threshold. */
  readonly since: ReadonlyMap<string, number>;
  /** The thresholds that were met for their grace period, and not yet left by their minimum reclaim. */
  readonly met: readonly Threshold[];
  /** When each condition last had a reason. */
  readonly lastSeen: ReadonlyMap<PressureCondition, number>;
  readonly last: Observations;
}

export const noPressure: PressureState = { since: new Map(), met: [], lastSeen: new Map(), last: {} };

export interface PressureInput {
  readonly thresholds: readonly Threshold[];
  readonly observations: Observations;
  /** How long a condition lasts after its reason has ended, in milliseconds (evictionPressureTransitionPeriod). */
  readonly transitionMs: number;
  readonly now: number;
}

export interface Assessment {
  readonly state: PressureState;
  /** What the node is short of, or was until shortly before. */
  readonly conditions: readonly PressureCondition[];
  /** The thresholds for which something has to be reclaimed now, memory first. */
  readonly due: readonly Threshold[];
}

/** One pass over the node's signals (behaviour:eviction; the part of the reference's `synchronize` that decides). */
export function assess(before: PressureState, input: PressureInput): Assessment {
  const { observations, transitionMs, now } = input;
  const below = thresholdsMet(input.thresholds, observations, false);
  const keys = new Set(below.map(thresholdKey));
  const unresolved = thresholdsMet(before.met, observations, true).filter((one) => !keys.has(thresholdKey(one)));
  const current = [...below, ...unresolved];
  const since = new Map(current.map((one) => [thresholdKey(one), before.since.get(thresholdKey(one)) ?? now]));
  const lastSeen = new Map([
    ...before.lastSeen,
    ...current.map(({ signal }) => [SIGNALS[signal].condition, now] as const),
  ]);
  const conditions = [...lastSeen].flatMap(([condition, at]) => (now - at < transitionMs ? condition : []));
  const met = current.filter((one) => now - (since.get(thresholdKey(one)) ?? now) >= one.graceMs);
  const due = met.filter(({ signal }) => isNewer(observations, before.last, signal));
  return { state: { since, met, lastSeen, last: observations }, conditions, due: memoryFirst(due) };
}

/** The thresholds of which the signals are below them; those of signals that could not be read are not. */
export function thresholdsMet(
  thresholds: readonly Threshold[],
  observations: Observations,
  enforcesReclaim: boolean,
): Threshold[] {
  return thresholds.filter((one) => {
    const observed = observations[one.signal];
    return observed !== undefined && isMet(one, observed, enforcesReclaim);
  });
}

/** A pod that was evicted must not cost a second one before its end can be seen. */
function isNewer(now: Observations, before: Observations, signal: Threshold['signal']): boolean {
  const [current, last] = [now[signal], before[signal]];
  return current !== undefined && (last === undefined || current.atMs > last.atMs);
}

function memoryFirst(thresholds: readonly Threshold[]): Threshold[] {
  const isMemory = ({ signal }: Threshold) => SIGNALS[signal].resource === 'memory';
  return [...thresholds.filter(isMemory), ...thresholds.filter((one) => !isMemory(one))];
}
