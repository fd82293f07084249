import type { Bus, Cause, FactOwner } from '@kubus/bus';
import { type PodWork, type RuntimePod, podWake, runtimePod, typeOf } from '@kubus/contracts';

type Wake = { runtime?: RuntimePod['stamp'] | undefined; reason: string };

export interface OlderWorkersOptions {
  readonly bus: Bus;
  /** The present work of a pod. */
  readonly work: (uid: string) => PodWork | undefined;
  /** The present state of each pod in the runtime. */
  readonly states: () => Iterable<{ readonly key: string; readonly value: RuntimePod; readonly cause: Cause }>;
  /** Publishes something after everything that was decided before it. */
  readonly publishInOrder: (what: () => void) => void;
}

/**
 * Wakes the workers of the version before this one when the runtime's state of their pods changes. Later ones follow that state
 * themselves and announce it; for their pods nothing is published.
 */
export class OlderWorkers {
  readonly #options: OlderWorkersOptions;
  readonly #wakes: FactOwner<Wake>;
  readonly #older = new Set<string>();

  constructor(options: OlderWorkersOptions) {
    this.#options = options;
    this.#wakes = options.bus.owner(podWake);
    options.bus.onPeer((service, instance) => {
      if (service === 'pod-workers') this.#announced(instance);
    });
  }

  /** The pod's state has changed, and not only been read again. A worker whose sync fails reads its pod each time: it must not sync at once. */
  changed(uid: string, { stamp }: RuntimePod, cause: Cause): void {
    this.#wake(uid, { runtime: stamp, reason: 'its containers changed' }, cause);
  }

  /** The runtime no longer has the pod. */
  removed(uid: string, cause: Cause): void {
    this.#wake(uid, { reason: 'the runtime no longer has the pod' }, cause);
  }

  /** There is no work for the pod any more. */
  forget(uid: string, causes: readonly Cause[]): void {
    this.#wakes.remove(uid, { pod: uid, causes });
  }

  complete(): void {
    this.#wakes.complete();
  }

  #announced(instance: string): void {
    const { bus, states } = this.#options;
    const peer = [...bus.peers].find((one) => one.instance === instance);
    if (peer?.follows?.includes(typeOf(runtimePod)) === true) {
      this.#older.delete(instance);
      return;
    }
    this.#older.add(instance);
    // What has changed while it was not known that this instance has to be woken.
    for (const { key, value, cause } of states()) this.changed(key, value, cause);
  }

  #wake(uid: string, wake: Wake, cause: Cause): void {
    const { work, publishInOrder } = this.#options;
    const worker = work(uid)?.worker;
    if (worker === undefined || !this.#older.has(worker)) return;
    publishInOrder(() => void this.#wakes.put(uid, wake, { pod: uid, causes: [cause] }));
  }
}
