import type { Bus, Cause, FactOwner } from '@kubus/bus';
import {
  type Pod,
  type PodRef,
  type PodVolumes as PodVolumesFact,
  type PodWork,
  type PodWorkerReport,
  type ResourceList,
  podVolumes,
  podWork,
  podWorker,
  volumeEvent,
} from '@kubus/contracts';
import { type ObjectReader, noObjects } from '@kubus/object-socket';
import { type Clock, type Logger, type RecordStore, toError } from '@kubus/ports';
import { EventRecorder, type EventRecorderOptions } from '@kubus/service-kit';
import { type KnownObjects, type VolumePlan, type VolumeSettings, planVolumes, volumeGoal } from '@kubus/volume';
import type { CsiUse } from './csi/csi-books.ts';
import { InUse } from './in-use.ts';
import { KnownFacts } from './known-facts.ts';
import { type PodVolume, PodVolumes, type PodVolumesDeps } from './pod-volumes.ts';
import type { VolumeHost } from './ports.ts';
import { serveSubPaths } from './sub-paths.ts';
import { volumeRecordSchema } from './volume-record.ts';

export interface VolumeManagerOptions {
  readonly bus: Bus;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly records: RecordStore;
  readonly host: VolumeHost;
  /** Left out on a node that has nobody who could be asked. */
  readonly objects?: ObjectReader | undefined;
  readonly settings: VolumeSettings;
  /** The node's resources for pods. Left out for a member of a cluster, whose Node object tells them. */
  readonly allocatable?: ResourceList;
  /** What is, or may be, mounted of drivers' volumes. Left out where there are none. */
  readonly csiUses?: () => readonly CsiUse[];
  /** See {@link EventRecorder}. */
  readonly eventRate?: EventRecorderOptions['rate'];
}

/**
 * All pods' volumes: brings each pod its work and its worker's state. Nothing of a pod that nobody speaks of is removed
 * before all works and all workers are known.
 */
export class VolumeManager {
  readonly #deps: PodVolumesDeps;
  readonly #settings: VolumeSettings;
  readonly #known: KnownObjects;
  readonly #facts: FactOwner<PodVolumesFact>;
  readonly #inUse: InUse;
  readonly #pods = new Map<string, PodVolumes>();
  readonly #refs = new Map<string, PodRef>();
  readonly #works = new Map<string, PodWork>();
  readonly #workers = new Map<string, PodWorkerReport>();
  /** The instances of pod-workers that have told of all their pods. */
  readonly #workersComplete = new Set<string>();
  #worksComplete = false;
  #told = false;

  private constructor(options: VolumeManagerOptions) {
    const { bus, clock, csiUses = () => [], eventRate, objects: reader = noObjects, settings, ...rest } = options;
    const { allocatable, ...deps } = rest;
    this.#facts = bus.owner(podVolumes);
    this.#settings = settings;
    const events = new EventRecorder({ bus, clock, rate: eventRate }).ofPods(volumeEvent);
    this.#deps = { ...deps, clock, events, facts: this.#facts };
    const changed = (concerns: (pod: Pod) => boolean, cause: Cause) => this.#updateThose(concerns, cause);
    this.#known = new KnownFacts(bus, { changed, allocatable });
    this.#inUse = new InUse({ bus, uses: csiUses, known: this.#known });
    const pod = (uid: string) => this.#pods.get(uid);
    serveSubPaths({ bus, host: deps.host, logger: deps.logger, objects: reader, pod });
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

  /** All volumes of all pods that it is known how to make. */
  get volumes(): PodVolume[] {
    return [...this.#pods.values()].flatMap((pod) => pod.volumes);
  }

  /** Pods of which not all volumes are as they should be. */
  get failing(): number {
    return [...this.#pods.values()].filter(({ error }) => error !== undefined).length;
  }

  /** True once everything that is there was told. */
  get ready(): boolean {
    return this.#told;
  }

  /** Tries at once what has failed: something is there now that was missing. */
  tryAgain(): void {
    for (const [uid, { error }] of this.#pods) if (error !== undefined) this.#update(uid, []);
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
    const ref = work?.ref ?? worker?.ref ?? this.#refs.get(uid);
    const goal = volumeGoal(work, worker?.state, this.#complete);
    const plans = this.#plans(work);
    this.#inUse.want(uid, goal === 'remove' || plans instanceof Error ? undefined : plans);
    this.#add(uid, false).update({ ref, goal, plans }, causes);
    this.#tellInUse();
  }

  #tellInUse(): void {
    if (this.#worksComplete) this.#inUse.tell();
  }

  #plans(work: PodWork | undefined): VolumePlan[] | Error | undefined {
    if (work?.pod === undefined) return undefined;
    try {
      return planVolumes(work.pod, this.#settings, this.#known);
    } catch (error) {
      return toError(error);
    }
  }

  /** Something is known now, or different, that matters to those pods. */
  #updateThose(concerns: (pod: Pod) => boolean, cause: Cause): void {
    for (const [uid, { pod }] of this.#works) if (pod !== undefined && concerns(pod)) this.#update(uid, [cause]);
  }

  #updateAll(cause: Cause): void {
    for (const uid of this.#pods.keys()) this.#update(uid, [cause]);
    this.#tellInUse();
    this.#tellIfSettled();
  }

  #onRest(uid: string): void {
    const isSpokenOf = this.#works.has(uid) || this.#workers.has(uid);
    if (!isSpokenOf && this.#pods.get(uid)?.forgettable === true) {
      this.#pods.delete(uid);
      this.#refs.delete(uid);
      this.#inUse.want(uid, undefined);
    }
    this.#tellInUse();
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
