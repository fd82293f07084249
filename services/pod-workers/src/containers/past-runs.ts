import type { PodRef, RuntimeContainer } from '@kubus/contracts';
import type { Clock } from '@kubus/ports';

/** As long as the reference keeps the containers of a pod that is gone: the period of its collection (behaviour:garbage-collection). */
const KEPT_MS = 60_000;

type Run = Pick<RuntimeContainer, 'name' | 'attempt'>;

/**
 * The numbers of the last runs of static pods that were removed. A manifest that comes back unchanged is the same pod, by its UID: its
 * containers go on counting (behaviour:pod-workers, UID reuse).
 */
export class PastRuns {
  readonly #clock: Clock;
  readonly #pods = new Map<string, { readonly attempts: ReadonlyMap<string, number>; readonly until: number }>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** The pod is about to be removed with these containers. */
  note({ uid }: PodRef, runs: readonly Run[]): void {
    this.#forgetOld();
    if (runs.length > 0) {
      this.#pods.set(uid, { attempts: newestOf(runs, this.of({ uid })), until: this.#clock.now() + KEPT_MS });
    }
  }

  /** Container name to the number of its last run. */
  of({ uid }: Pick<PodRef, 'uid'>): ReadonlyMap<string, number> {
    this.#forgetOld();
    return this.#pods.get(uid)?.attempts ?? new Map<string, number>();
  }

  #forgetOld(): void {
    const now = this.#clock.now();
    for (const [uid, { until }] of this.#pods) if (until <= now) this.#pods.delete(uid);
  }
}

/** The greatest number of each container. */
export function newestOf(runs: Iterable<Run>, known: ReadonlyMap<string, number>): ReadonlyMap<string, number> {
  const newest = new Map(known);
  for (const { name, attempt } of runs) newest.set(name, Math.max(attempt, newest.get(name) ?? 0));
  return newest;
}
