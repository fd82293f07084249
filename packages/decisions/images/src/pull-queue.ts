/** A requested pull. */
export interface QueuedPull {
  readonly id: number;
  readonly image: string;
}

/** Pulls by their state; in both lists in the order of their requests. */
export interface PullQueue<P extends QueuedPull> {
  readonly running: readonly P[];
  readonly waiting: readonly P[];
}

/**
 * The pulls that may start now: in the order of their requests, at most `limit` at a time (Infinity: any number),
 * and only one at a time per image, because two would download the same layers. A pull that waits for its image does not delay
 * those after it.
 */
export function startable<P extends QueuedPull>({ running, waiting }: PullQueue<P>, limit: number): P[] {
  const busy = new Set(running.map(({ image }) => image));
  const next: P[] = [];
  for (const pull of waiting) {
    if (running.length + next.length >= limit) break;
    if (busy.has(pull.image)) continue;
    busy.add(pull.image);
    next.push(pull);
  }
  return next;
}
