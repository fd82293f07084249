import type { PodWork, WorkerState } from '@kubus/contracts';
import type { WorkerDeps } from './worker-deps.ts';
import type { PassKind } from './worker-metrics.ts';

/** Counts the passes over one pod by what they do, and how long they take. */
export class PassMeasure {
  readonly #deps: Pick<WorkerDeps, 'metrics' | 'clock'>;
  /** What the next pass does if the pod goes on. */
  #next: Extract<PassKind, 'create' | 'update' | 'sync'>;
  #given = false;

  /** @param isNew nothing was written down of the pod */
  constructor(deps: Pick<WorkerDeps, 'metrics' | 'clock'>, isNew: boolean) {
    this.#deps = deps;
    this.#next = isNew ? 'create' : 'sync';
  }

  /** The pod is given, or its work is another one. */
  given({ source }: PodWork): void {
    if (!this.#given && source === 'runtime') this.#deps.metrics.orphan();
    if (this.#given && this.#next === 'sync') this.#next = 'update';
    this.#given = true;
  }

  /** A UID that was ended is wanted again. */
  begunAnew({ source }: PodWork): void {
    this.#deps.metrics.restarted(source !== 'api');
    this.#next = 'create';
  }

  /** Makes a pass over a pod in that state. */
  async pass<T>(state: WorkerState, { pod, firstSeen }: PodWork, make: () => Promise<T>): Promise<T> {
    const { metrics, clock } = this.#deps;
    const kind = state === 'syncing' ? this.#next : state === 'terminating' ? 'kill' : 'terminated';
    if (kind === 'create' && pod !== undefined) metrics.begun(pod, firstSeen);
    this.#next = 'sync';
    const began = clock.now();
    try {
      return await make();
    } finally {
      metrics.passed(kind, began);
    }
  }
}
