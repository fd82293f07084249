import type { Bus, Cause, FactOwner } from '@kubus/bus';
import {
  type PodRef,
  type PodVolumes as PodVolumesFact,
  type PodWork,
  type PodWorkerReport,
  podVolumes,
  podWork,
  podWorker,
} from '@kubus/contracts';
import type { Clock, Logger, RecordStore } from '@kubus/ports';
import type { VolumeSettings } from '@kubus/volume';
import { PodVolumes, type PodVolumesDeps } from './pod-volumes.ts';
import type { VolumeHost } from './ports.ts';
import { volumeRecordSchema } from './volume-record.ts';

export interface VolumeManagerOptions {
  readonly bus: Bus;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly records: RecordStore;
  readonly host: VolumeHost;
  readonly settings: VolumeSettings;
}

/**
 * All pods' volumes: brings each pod its work and its worker's state. Nothing of a pod that nobody speaks of is removed
 * before all works and all workers are known.
 */
export class VolumeManager {
  readonly #deps: PodVolumesDeps;
  readonly #facts: FactOwner<PodVolumesFact>;
  readonly #pods = new Map<string, PodVolumes>();
  readonly #refs = new Map<string, PodRef>();
  readonly #works = new Map<string, PodWork>();
  readonly #workers = new Map<string, PodWorkerReport>();
  /** The instances of pod-workers that have told of all their pods. */
  readonly #workersComplete = new Set<string>();
  #worksComplete = false;
  #told = false;

  private constructor(options: VolumeManagerOptions) {
    const { bus, ...deps } = options;
    this.#facts = bus.owner(podVolumes);
    this.#deps = { ...deps, facts: this.#facts };
  }

  /** Reads what earlier lives have left, in the records and on the machine, then starts. */
  static async start(options: VolumeManagerOptions): Promise<VolumeManager> {
    const manager = new VolumeManager(options);
    const { host, logger, records } = options;
    for (const [uid, value] of await records.load()) {
      const parsed = volumeRecordSchema.safeParse(value);
      if (parsed.success) manager.#refs.set(uid, parsed.data.ref);
      else logger.error({ podUid: uid, err: parsed.error }, 'the record of a pod’s volumes is not understood');
      manager.#add(uid, true);
    }
    for (const uid of await host.pods()) manager.#add(uid, true);
    manager.#listen(options.bus);
    return manager;
  }

  /** Pods that have volumes or are to get some. */
  get count(): number {
    return this.#pods.size;
  }

  /** Pods of which not all volumes are as they should be. */
  get failing(): number {
    return [...this.#pods.values()].filter(({ error }) => error !== undefined).length;
  }

  /** True once everything that is there was told. */
  get ready(): boolean {
    return this.#told;
  }

  /** Resolves when nothing is under way any more. */
  async stop(): Promise<void> {
    await Promise.all([...this.#pods.values()].map((pod) => pod.stop()));
  }

  #listen(bus: Bus): void {
    bus.reader(podWork, {
      changed: ({ key, value, cause }) => {
        this.#works.set(key, value);
        this.#update(key, [cause]);
      },
      removed: ({ key }, cause) => {
        this.#works.delete(key);
        this.#update(key, [cause]);
      },
      complete: (_instance, _epoch, cause) => {
        this.#worksComplete = true;
        this.#updateAll(cause);
      },
    });
    bus.reader(podWorker, {
      changed: ({ key, value, cause }) => {
        this.#workers.set(key, value);
        this.#update(key, [cause]);
      },
      removed: ({ key }, cause) => {
        this.#workers.delete(key);
        this.#update(key, [cause]);
      },
      complete: (instance, _epoch, cause) => {
        this.#workersComplete.add(instance);
        this.#updateAll(cause);
      },
    });
  }

  /** Every instance that has work has told of its pods; one at least, for there may be no work at all. */
  get #complete(): boolean {
    if (!this.#worksComplete || this.#workersComplete.size === 0) return false;
    return [...this.#works.values()].every(({ worker }) => this.#workersComplete.has(worker));
  }

  #add(uid: string, recorded: boolean): PodVolumes {
    const present = this.#pods.get(uid);
    if (present !== undefined) return present;
    const pod = new PodVolumes(uid, this.#deps, { recorded, onRest: () => this.#onRest(uid) });
    this.#pods.set(uid, pod);
    return pod;
  }

  #update(uid: string, causes: readonly Cause[]): void {
    const work = this.#works.get(uid);
    const worker = this.#workers.get(uid);
    if (work === undefined && worker === undefined && !this.#pods.has(uid)) return;
    this.#add(uid, false).update(
      {
        ref: work?.ref ?? worker?.ref ?? this.#refs.get(uid),
        work,
        worker: worker?.state,
        complete: this.#complete,
      },
      causes,
    );
  }

  #updateAll(cause: Cause): void {
    for (const uid of this.#pods.keys()) this.#update(uid, [cause]);
    this.#tellIfSettled();
  }

  #onRest(uid: string): void {
    if (this.#pods.get(uid)?.forgettable === true) {
      this.#pods.delete(uid);
      this.#refs.delete(uid);
    }
    this.#tellIfSettled();
  }

  /** A missing fact says that nothing is left of a pod's volumes: true only after every pod has been looked at. */
  #tellIfSettled(): void {
    if (this.#told || !this.#complete) return;
    for (const { settled } of this.#pods.values()) if (!settled) return;
    this.#told = true;
    this.#facts.complete();
  }
}
