import type { ProbeKind, ProbeSettings } from './definition.ts';

/** The times of a probe: `anchor`, and every period after it. Milliseconds since the Unix epoch. */
export interface Schedule {
  readonly anchor: number;
  /** The next attempt. */
  readonly at: number;
}

/**
 * When a run of a container is probed for the first time (behaviour:probes, timing). Readiness as soon as allowed, because
 * the pod's clients wait for it. Startup and liveness one period after the start and then every period, as in the
 * reference for a container that starts at once: the container has `failureThreshold` periods to start.
 *
 * @param startedAt the start of the container, in milliseconds since the Unix epoch
 * @param spread in [0, 1): the fraction of a period to wait instead, for containers that were started before the prober. Otherwise
 *   all of them would be probed at the same time, with every period.
 */
export function firstAttempt(
  kind: ProbeKind,
  { initialDelayMs, periodMs }: Pick<ProbeSettings, 'initialDelayMs' | 'periodMs'>,
  { now, startedAt, spread }: { now: number; startedAt: number; spread?: number | undefined },
): Schedule {
  // The clock may have been set back since.
  const started = Math.min(startedAt, now);
  const earliest = Math.max(now, started + initialDelayMs);
  const anchor = spread !== undefined ? now + spread * periodMs : kind === 'readiness' ? earliest : started + periodMs;
  const periods = Math.max(0, Math.ceil((earliest - anchor) / periodMs));
  return { anchor, at: anchor + periods * periodMs };
}

/**
 * The attempt after the one that began at `began`. If that one took longer than a period, the next one is made at once,
 * because its time has passed.
 */
export function nextAttempt(anchor: number, periodMs: number, began: number, now: number): Schedule {
  const periods = Math.max(0, Math.floor((began - anchor) / periodMs) + 1);
  return { anchor, at: Math.max(now, anchor + periods * periodMs) };
}

/**
 * The fraction of a period by which the first attempt is delayed, or undefined: only for a run that is older than the prober,
 * and only within the first period after the prober's start.
 */
export function spreadOf(
  periodMs: number,
  times: { now: number; startedAt: number; proberStartedAt: number },
  fraction: () => number,
): number | undefined {
  const { now, startedAt, proberStartedAt } = times;
  return startedAt < proberStartedAt && now - proberStartedAt < periodMs ? fraction() : undefined;
}
