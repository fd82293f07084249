/** A pull that was asked for. */
export interface QueuedPull {
  readonly id: number;
  readonly image: string;
}

/** Pulls by what they do now; in both lists the earlier ones first. */
export interface PullQueue<P extends QueuedPull> {
  readonly running: readonly P[];
  readonly waiting: readonly P[];
}

/**
 * The pulls that may begin now: in the order in which they were asked for, at most `limit` at once (Infinity: any number),
 * and of one image one at a time, for two would fetch the same layers. A pull that waits for its image does not hold up
 * those behind it.
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
