import type { Bus, Cause, FactReader } from '@kubus/bus';
import {
  type Pod,
  type PodWork,
  type PodWorkerReport,
  type RuntimeContainer,
  type RuntimePod,
  podWork,
  podWorker,
  runtimePod,
} from '@kubus/contracts';
import { nanosToMs } from '@kubus/pod-lifecycle';

/** The pods of the node, as other services publish them. */
export class ActivePods {
  readonly #works: FactReader<PodWork>;
  readonly #workers: FactReader<PodWorkerReport>;
  readonly #runtime: FactReader<RuntimePod>;
  /** Called when the state of a worker, or of a pod in the runtime, has changed. */
  readonly #listeners = new Set<() => void>();

  constructor(bus: Bus) {
    // They are looked at when a pod has to go.
    const lazy = true;
    const changed = () => this.#listeners.forEach((listener) => listener());
    this.#works = bus.reader(podWork, { lazy });
    this.#workers = bus.reader(podWorker, { lazy, changed, removed: changed });
    this.#runtime = bus.reader(runtimePod, { lazy, changed, removed: changed });
  }

  /** Pods that run or are to run, and that nobody ends yet. */
  get active(): readonly Pod[] {
    return [...this.#works].flatMap(({ value }) =>
      value.work === 'sync' && value.pod !== undefined && !this.hasEnded(value.ref.uid) ? value.pod : [],
    );
  }

  /** What the runtime has of all pods. */
  runtimePods(): RuntimePod[] {
    return [...this.#runtime].map(({ value }) => value);
  }

  /** The newest messages about a pod. */
  causesOf(uid: string): readonly Cause[] {
    return [this.#works.get(uid), this.#runtime.get(uid)].flatMap((fact) => fact?.cause ?? []);
  }

  /** Whether nothing of a pod runs, and its volumes are unmounted. */
  hasEnded(uid: string): boolean {
    const worker = this.#workers.get(uid)?.value;
    return worker?.state === 'finished' || (worker?.state === 'terminated' && worker.cleaned === true);
  }

  /** Resolves when the pod has ended, or with the signal. */
  end(uid: string, signal: AbortSignal): Promise<void> {
    return this.#until(() => this.#works.get(uid) === undefined || this.hasEnded(uid), signal);
  }

  /** Resolves when {@link areEmptied} holds, or with the signal. */
  emptied(createdBefore: number, signal: AbortSignal): Promise<void> {
    return this.#until(() => this.areEmptied(createdBefore), signal);
  }

  /**
   * Whether the runtime has nothing more of pods that have ended.
   *
   * @param createdBefore containers that are younger stay; milliseconds since the Unix epoch
   */
  areEmptied(createdBefore: number): boolean {
    const isOld = ({ createdAt }: RuntimeContainer) => nanosToMs(createdAt) <= createdBefore;
    const isLeft = ({ ref, containers, sandboxes }: RuntimePod) =>
      this.#workers.get(ref.uid)?.value.state === 'terminated' &&
      (containers.some(isOld) || (containers.length === 0 && sandboxes.length > 0));
    return !this.runtimePods().some(isLeft);
  }

  async #until(isSo: () => boolean, signal: AbortSignal): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<undefined>();
    const look = () => {
      if (signal.aborted || isSo()) resolve(undefined);
    };
    this.#listeners.add(look);
    signal.addEventListener('abort', look);
    look();
    await promise;
    this.#listeners.delete(look);
    signal.removeEventListener('abort', look);
  }
}
