import type { Container, ResourceList } from '@kubus/contracts';

/** When something may be tried again, and how long the delay is. */
export interface BackOffEntry {
  /** Milliseconds to wait after the event to which the entry applies. */
  readonly waitMs: number;
  /** When the entry was created or lengthened, in milliseconds since the Unix epoch. */
  readonly updatedAt: number;
  /** The last failure, for people. */
  readonly error?: string | undefined;
  /**
   * The attempt that the back-off allowed when the entry was last lengthened, until that attempt has failed to start.
   */
  readonly attempt?: number | undefined;
}

/** All in milliseconds. */
export interface BackOffLimits {
  readonly firstMs: number;
  readonly maxMs: number;
  /** After this long without an event the next one counts as the first. */
  readonly quietMs: number;
}

/** For restarts of a crashing container, and for image pulls (behaviour:container-actions and behaviour:images). */
export const backOffLimits: BackOffLimits = { firstMs: 10_000, maxMs: 300_000, quietMs: 600_000 };

/** The node's configuration of restarts of crashing containers. */
export interface CrashLoopOptions {
  /** The feature gate ReduceDefaultCrashLoopBackOffDecay: from 1 s to 60 s. */
  readonly reducedDecay?: boolean | undefined;
  /**
   * `crashLoopBackOff.maxContainerRestartPeriod` in milliseconds, 1 s to 300 s; only set with the feature gate
   * KubeletCrashLoopBackOffMax.
   */
  readonly maxRestartPeriodMs?: number | undefined;
}

/** Delays between restarts of a crashing container. A configured maximum takes precedence over the default one. */
export function crashLoopLimits({ reducedDecay, maxRestartPeriodMs }: CrashLoopOptions = {}): BackOffLimits {
  const { firstMs, maxMs, quietMs } = backOffLimits;
  const first = reducedDecay === true ? 1_000 : firstMs;
  const max = maxRestartPeriodMs ?? (reducedDecay === true ? 60_000 : maxMs);
  return { firstMs: Math.min(first, max), maxMs: max, quietMs };
}

/**
 * The key of a container's back-off. It includes its image and resources, so that a change of either
 * starts again with the first delay.
 */
export function crashLoopKey(container: Pick<Container, 'name' | 'image' | 'resources'>): string {
  const sorted = (list: ResourceList | undefined) =>
    Object.entries(list ?? {}).sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0));
  const { limits, requests, claims } = container.resources ?? {};
  const resources = JSON.stringify([sorted(limits), sorted(requests), claims ?? []]);
  return `container/${container.name}/${container.image ?? ''}/${resources}`;
}

/**
 * Milliseconds left to wait at `now`, when the event (the end of the last run, or the failed pull) was at `eventAt`; 0:
 * none.
 */
export function backOffRemaining(
  entry: BackOffEntry | undefined,
  eventAt: number,
  now: number,
  limits: BackOffLimits = backOffLimits,
): number {
  if (entry === undefined || eventAt - entry.updatedAt > limits.quietMs) return 0;
  return Math.max(0, eventAt + entry.waitMs - now);
}

/**
 * Whether the back-off has already allowed that attempt, but it was not made, because the worker ended or was
 * interrupted. It neither waits again nor counts as a further attempt.
 */
export function isLetThrough(entry: BackOffEntry | undefined, attempt: number): boolean {
  return entry?.attempt === attempt;
}

/** The entry after a further attempt at `now`: the first delay, then twice as long each time. */
export function lengthenBackOff(
  entry: BackOffEntry | undefined,
  eventAt: number,
  now: number,
  limits: BackOffLimits = backOffLimits,
): BackOffEntry {
  if (entry === undefined || eventAt - entry.updatedAt > limits.quietMs) {
    return { waitMs: limits.firstMs, updatedAt: now };
  }
  return { waitMs: Math.min(entry.waitMs * 2, limits.maxMs), updatedAt: now };
}
