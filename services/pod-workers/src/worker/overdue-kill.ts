import type { PodRef, PodWork } from '@kubus/contracts';
import { type WorkerMachine, gracePeriod, killTimeoutMs } from '@kubus/pod-lifecycle';
import type { Cancel } from '@kubus/ports';
import type { WorkerDeps } from './worker-deps.ts';

/**
 * Records an event when a pod that the node itself ends, in favor of another one, takes longer to stop than its grace
 * period (behaviour:pod-workers, killPodNow). A restarted service does not wait for that, as in the reference.
 */
export class OverdueKill {
  readonly #ref: PodRef;
  readonly #deps: Pick<WorkerDeps, 'clock' | 'events'>;
  #cancel: Cancel | undefined;

  constructor(ref: PodRef, deps: Pick<WorkerDeps, 'clock' | 'events'>) {
    this.#ref = ref;
    this.#deps = deps;
  }

  /** The worker's state has changed. */
  changed({ state, graceSeconds }: WorkerMachine, work: PodWork | undefined): void {
    this.stop();
    if (state !== 'terminating' || work?.failure === undefined) return;
    const { clock, events } = this.#deps;
    this.#cancel = clock.after(killTimeoutMs(graceSeconds ?? gracePeriod(work.pod, work.graceSeconds)), () => {
      const message = 'Container runtime did not kill the pod within specified grace period.';
      events.record({ ref: this.#ref, type: 'Warning', reason: 'ExceededGracePeriod', message }, []);
    });
  }

  stop(): void {
    this.#cancel?.();
    this.#cancel = undefined;
  }
}
