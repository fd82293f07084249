import type { Pod } from '@kubus/contracts';

/** How long the pods of a priority get to end when the machine shuts down. */
export interface ShutdownPeriod {
  readonly priority: number;
  readonly seconds: number;
}

/** Pods that end at the same time. */
interface ShutdownGroup extends ShutdownPeriod {
  readonly pods: readonly Pod[];
}

/**
 * The pods by periods, lowest priority first (KEP-2712; behaviour:node-shutdown). A pod belongs to the greatest period that is not above
 * its priority; one below all periods belongs to the lowest. Every pod is in exactly one group; groups without pods are left out.
 */
export function shutdownGroups(periods: readonly ShutdownPeriod[], pods: readonly Pod[]): ShutdownGroup[] {
  const ordered = periods.toSorted((a, b) => a.priority - b.priority);
  const members = new Map<ShutdownPeriod, Pod[]>();
  for (const pod of pods) {
    const priority = pod.spec.priority ?? 0;
    const period = ordered.findLast((one) => one.priority <= priority) ?? ordered[0];
    if (period !== undefined) members.set(period, [...(members.get(period) ?? []), pod]);
  }
  return ordered.flatMap((period) => {
    const own = members.get(period);
    return own === undefined ? [] : [{ ...period, pods: own }];
  });
}

/** What is due at a moment. */
export interface ShutdownStep {
  /** Groups whose turn has come since the step before. */
  readonly begun: readonly ShutdownGroup[];
  /** When the present group's time is over, in milliseconds since the Unix epoch; undefined: every group has had its turn. */
  readonly until: number | undefined;
}

/**
 * The turns in which pods end: a group begins when all pods of the one before have ended, or when that group's time is over
 * (behaviour:node-shutdown).
 */
export class ShutdownOrder {
  readonly #groups: ShutdownGroup[];
  #present: ShutdownGroup | undefined;
  /** When the present group's time is over; before the first group, when the shutdown began. */
  #until: number;

  /** @param since when the shutdown began, in milliseconds since the Unix epoch */
  constructor(periods: readonly ShutdownPeriod[], pods: readonly Pod[], since: number) {
    this.#groups = shutdownGroups(periods, pods);
    this.#until = since;
  }

  /** @param hasEnded whether a pod has ended, and its volumes are unmounted */
  step(now: number, hasEnded: (uid: string) => boolean): ShutdownStep {
    const begun: ShutdownGroup[] = [];
    for (;;) {
      const present = this.#present;
      if (present !== undefined) {
        const isOver = present.pods.every(({ metadata }) => hasEnded(metadata.uid));
        if (!isOver && now < this.#until) return { begun, until: this.#until };
        // What a group has not used is not given to the next.
        if (isOver) this.#until = Math.min(now, this.#until);
      }
      this.#present = this.#groups.shift();
      if (this.#present === undefined) return { begun, until: undefined };
      this.#until += this.#present.seconds * 1000;
      begun.push(this.#present);
    }
  }
}

/** Seconds that a pod gets in its group: its own grace period where that is shorter. */
export function shutdownGrace({ spec }: Pick<Pod, 'spec'>, { seconds }: Pick<ShutdownPeriod, 'seconds'>): number {
  const own = spec.terminationGracePeriodSeconds;
  return own === undefined ? seconds : Math.min(own, seconds);
}
