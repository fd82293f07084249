import type { PodWork, WorkerState } from '@kubus/contracts';
import type { WorkerDeps } from './worker-deps.ts';
import type { SyncKind } from '../metrics/worker-metrics.ts';

/** Counts the syncs of one pod by their kind, and measures how long they take. */
export class SyncMeasure {
  readonly #deps: Pick<WorkerDeps, 'metrics' | 'clock'>;
  /** The kind of the next sync while the pod is desired. */
  #next: Extract<SyncKind, 'create' | 'update' | 'sync'>;
  #given = false;

  /** @param isNew the pod has no record */
  constructor(deps: Pick<WorkerDeps, 'metrics' | 'clock'>, isNew: boolean) {
    this.#deps = deps;
    this.#next = isNew ? 'create' : 'sync';
  }

  /** The sync loop has assigned the pod to this instance, or has other work for it. */
  onWork({ source }: PodWork): void {
    if (!this.#given && source === 'runtime') this.#deps.metrics.orphan();
    if (this.#given && this.#next === 'sync') this.#next = 'update';
    this.#given = true;
  }

  /** A UID that had finished is desired again. */
  onRestart({ source }: PodWork): void {
    this.#deps.metrics.restarted(source !== 'api');
    this.#next = 'create';
  }

  /** Measures one sync of a pod in that state. */
  async measure<T>(state: WorkerState, { pod, firstSeen }: PodWork, sync: () => Promise<T>): Promise<T> {
    const { metrics, clock } = this.#deps;
    const kind = state === 'syncing' ? this.#next : state === 'terminating' ? 'kill' : 'terminated';
    if (kind === 'create' && pod !== undefined) metrics.firstSync(pod, firstSeen);
    this.#next = 'sync';
    const began = clock.now();
    try {
      return await sync();
    } finally {
      metrics.synced(kind, began);
    }
  }
}
