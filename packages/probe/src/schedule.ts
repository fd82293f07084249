import type { ProbeKind, ProbeSettings } from './definition.ts';

/** Moments of a probe: `anchor`, and every period after it. Milliseconds since the Unix epoch. */
export interface Schedule {
  readonly anchor: number;
  /** The next attempt. */
  readonly at: number;
}

/**
 * When a run of a container is probed first (kubelet behaviour 1.11, timing). Readiness as soon as it may be, for that is
 * what the pod's clients wait for. Startup and liveness one period after the start and then every period, as the
 * reference does for a container that starts at once: `failureThreshold` periods are what the container has to come up.
 *
 * @param startedAt the start of the container, milliseconds since the Unix epoch
 * @param spread in [0, 1): the part of a period to wait instead, for containers that ran before the prober did. Else all of
 *   them would be probed at once, and then again with every period.
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
 * The attempt after the one that began at `began`. One that took longer than a period is followed by the next at once,
 * as the moment for that has passed.
 */
export function nextAttempt(anchor: number, periodMs: number, began: number, now: number): Schedule {
  const periods = Math.max(0, Math.floor((began - anchor) / periodMs) + 1);
  return { anchor, at: Math.max(now, anchor + periods * periodMs) };
}

/**
 * The part of a period by which the first attempt is put off, or undefined: only for a run that is older than the prober,
 * and only within the first period of the prober's life.
 */
export function spreadOf(
  periodMs: number,
  times: { now: number; startedAt: number; proberStartedAt: number },
  fraction: () => number,
): number | undefined {
  const { now, startedAt, proberStartedAt } = times;
  return startedAt < proberStartedAt && now - proberStartedAt < periodMs ? fraction() : undefined;
}
