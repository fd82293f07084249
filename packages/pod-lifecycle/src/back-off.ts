/** When a thing may be tried again, and how long the wait is. */
export interface BackOffEntry {
  /** Milliseconds to wait after an event of the kind that the entry is about. */
  readonly waitMs: number;
  /** When the entry was made or lengthened, milliseconds since the Unix epoch. */
  readonly updatedAt: number;
}

export interface BackOffLimits {
  readonly firstMs: number;
  readonly maxMs: number;
}

/** Restarts of a crashing container, and pulls of an image (kubelet behaviour 1.5 and 1.8). */
export const backOffLimits: BackOffLimits = { firstMs: 10_000, maxMs: 300_000 };

/**
 * How long is still to be waited at `now`, when the event (the end of the last run, the failed pull) was at `eventAt`:
 * 0 means go on. An entry counts as forgotten when nothing happened for twice the longest wait.
 */
export function backOffRemaining(
  entry: BackOffEntry | undefined,
  eventAt: number,
  now: number,
  limits: BackOffLimits = backOffLimits,
): number {
  if (entry === undefined || eventAt - entry.updatedAt > 2 * limits.maxMs) return 0;
  return Math.max(0, eventAt + entry.waitMs - now);
}

/** The entry after a further try at `now`: the first wait at first, then twice as long each time. */
export function lengthenBackOff(
  entry: BackOffEntry | undefined,
  eventAt: number,
  now: number,
  limits: BackOffLimits = backOffLimits,
): BackOffEntry {
  if (entry === undefined || eventAt - entry.updatedAt > 2 * limits.maxMs) {
    return { waitMs: limits.firstMs, updatedAt: now };
  }
  return { waitMs: Math.min(entry.waitMs * 2, limits.maxMs), updatedAt: now };
}

/** `10s`, `1m20s`, `5m0s`: how the reference writes a wait in messages. */
export function formatWait(ms: number): string {
  const seconds = Math.round(ms / 1000);
  return seconds < 60 ? `${seconds}s` : `${Math.floor(seconds / 60)}m${seconds % 60}s`;
}
