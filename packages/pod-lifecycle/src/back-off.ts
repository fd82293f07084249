import type { Container, ResourceList } from '@kubus/contracts';

/** When a thing may be tried again, and how long the wait is. */
export interface BackOffEntry {
  /** Milliseconds to wait after an event of the kind that the entry is about. */
  readonly waitMs: number;
  /** When the entry was made or lengthened, milliseconds since the Unix epoch. */
  readonly updatedAt: number;
  /** What failed last, for people. */
  readonly error?: string | undefined;
  /** The attempt of a container that was let through when the entry was lengthened last, until it has failed to start. */
  readonly attempt?: number | undefined;
}

/** All in milliseconds. */
export interface BackOffLimits {
  readonly firstMs: number;
  readonly maxMs: number;
  /** After this long without an event the next one counts as the first. */
  readonly quietMs: number;
}

/** Restarts of a crashing container, and pulls of an image (kubelet behaviour 1.5 and 1.8). */
export const backOffLimits: BackOffLimits = { firstMs: 10_000, maxMs: 300_000, quietMs: 600_000 };

/** What a node's configuration says about restarts of crashing containers. */
export interface CrashLoopOptions {
  /** The feature gate ReduceDefaultCrashLoopBackOffDecay: from 1 s to 60 s. */
  readonly reducedDecay?: boolean | undefined;
  /**
   * `crashLoopBackOff.maxContainerRestartPeriod` in milliseconds, 1 s to 300 s; given only with the feature gate
   * KubeletCrashLoopBackOffMax.
   */
  readonly maxRestartPeriodMs?: number | undefined;
}

/** Waits between restarts of a crashing container. A configured longest wait goes before the default one. */
export function crashLoopLimits({ reducedDecay, maxRestartPeriodMs }: CrashLoopOptions = {}): BackOffLimits {
  const { firstMs, maxMs, quietMs } = backOffLimits;
  const first = reducedDecay === true ? 1_000 : firstMs;
  const max = maxRestartPeriodMs ?? (reducedDecay === true ? 60_000 : maxMs);
  return { firstMs: Math.min(first, max), maxMs: max, quietMs };
}

/**
 * Under which key a container's back-off is kept. Its image and resources are part of it, so that a change of either
 * begins anew.
 */
export function crashLoopKey(container: Pick<Container, 'name' | 'image' | 'resources'>): string {
  const sorted = (list: ResourceList | undefined) =>
    Object.entries(list ?? {}).sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0));
  const { limits, requests, claims } = container.resources ?? {};
  const resources = JSON.stringify([sorted(limits), sorted(requests), claims ?? []]);
  return `container/${container.name}/${container.image ?? ''}/${resources}`;
}

/**
 * How long is still to be waited at `now`, when the event (the end of the last run, the failed pull) was at `eventAt`:
 * 0 means go on.
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
 * Whether that attempt has been let through already and was not made: whoever was to make it has died, or was called away. It
 * neither waits again nor counts as a further one.
 */
export function isLetThrough(entry: BackOffEntry | undefined, attempt: number): boolean {
  return entry?.attempt === attempt;
}

/** The entry after a further try at `now`: the first wait at first, then twice as long each time. */
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

/** `10s`, `1m20s`, `5m0s`: how the reference writes a wait in messages. */
export function formatWait(ms: number): string {
  const seconds = Math.round(ms / 1000);
  return seconds < 60 ? `${seconds}s` : `${Math.floor(seconds / 60)}m${seconds % 60}s`;
}
