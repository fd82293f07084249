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
import type { CsiUse } from './csi/csi-use-records.ts';
import { InUse } from './cluster/in-use.ts';
import { KnownFacts } from './cluster/known-facts.ts';
import { type PodVolume, PodVolumes, type PodVolumesDeps } from './pod/pod-volumes.ts';
import type { VolumeHost } from './ports.ts';
import { serveSubPaths } from './sub-path/sub-paths.ts';
import { volumeRecordSchema } from './pod/volume-record.ts';

export interface VolumeManagerOptions {
  readonly bus: Bus;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly records: RecordStore;
  readonly host: VolumeHost;
  /** Default: none, on a node without an API server. */
  readonly objects?: ObjectReader | undefined;
  readonly settings: VolumeSettings;
  /** The node's allocatable resources. Default: those of the Node object. */
  readonly allocatable?: ResourceList;
  /** CSI volumes that are, or may be, mounted; default: none. */
  readonly csiUses?: () => readonly CsiUse[];
  /** Volumes that exceed their size limit cost their pod its life. Default: true. */
  readonly sizeLimits?: boolean;
  /** See {@link EventRecorder}. */
  readonly eventRate?: EventRecorderOptions['rate'];
}

/**
 * All pods' volumes: passes each pod its desired pod and its worker's state. Nothing of a pod without either is
 * removed before all desired pods and all workers are known.
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
  /** The instances of pod-workers that have published all their pods. */
  readonly #workersComplete = new Set<string>();
  #worksComplete = false;
  #published = false;

  private constructor(options: VolumeManagerOptions) {
    const { bus, clock, csiUses = () => [], eventRate, objects: reader = noObjects, settings, ...rest } = options;
    const { allocatable, sizeLimits = true, ...deps } = rest;
    this.#facts = bus.owner(podVolumes);
    this.#settings = settings;
    const events = new EventRecorder({ bus, clock, rate: eventRate }).ofPods(volumeEvent);
    this.#deps = { ...deps, clock, events, sizeLimits, facts: this.#facts };
    const changed = (concerns: (pod: Pod) => boolean, cause: Cause) => this.#updateThose(concerns, cause);
    this.#known = new KnownFacts(bus, { changed, allocatable });
    this.#inUse = new InUse({ bus, uses: csiUses, known: this.#known });
    const pod = (uid: string) => this.#pods.get(uid);
    serveSubPaths({ bus, host: deps.host, logger: deps.logger, objects: reader, pod });
  }

  /** Reads the records of earlier processes and what is on the machine, then starts. */
  static async start(options: VolumeManagerOptions): Promise<VolumeManager> {
    const manager = new VolumeManager(options);
    const { host, logger, records } = options;
    for (const [uid, value] of await records.load()) {
      const parsed = volumeRecordSchema.safeParse(value);
      if (parsed.success) manager.#refs.set(uid, parsed.data.ref);
      else logger.error({ podUid: uid, err: parsed.error }, 'cannot parse the volume record of a pod');
      manager.#add(uid, true);
    }
    for (const uid of await host.pods()) manager.#add(uid, true);
    manager.#listen(options.bus);
    return manager;
  }

  /** Number of pods that have volumes or are to get some. */
  get count(): number {
    return this.#pods.size;
  }

  /** All volumes of all pods that can be made. */
  get volumes(): PodVolume[] {
    return [...this.#pods.values()].flatMap((pod) => pod.volumes);
  }

  /** Number of pods with a volume that is not as desired. */
  get failing(): number {
    return [...this.#pods.values()].filter(({ error }) => error !== undefined).length;
  }

  /** True once the state of all pods has been published. */
  get ready(): boolean {
    return this.#published;
  }

  /** Retries at once what has failed: something that was missing is available now. */
  tryAgain(): void {
    for (const [uid, { error }] of this.#pods) if (error !== undefined) this.#update(uid, []);
  }

  /** Resolves when no operation is running. */
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

  /** Every instance with work has published its pods; at least one, for there may be no work at all. */
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
    this.#publishInUse();
  }

  #publishInUse(): void {
    if (this.#worksComplete) this.#inUse.publish();
  }

  #plans(work: PodWork | undefined): VolumePlan[] | Error | undefined {
    if (work?.pod === undefined) return undefined;
    try {
      return planVolumes(work.pod, this.#settings, this.#known);
    } catch (error) {
      return toError(error);
    }
  }

  /** A fact that those pods depend on has appeared or changed. */
  #updateThose(concerns: (pod: Pod) => boolean, cause: Cause): void {
    for (const [uid, { pod }] of this.#works) if (pod !== undefined && concerns(pod)) this.#update(uid, [cause]);
  }

  #updateAll(cause: Cause): void {
    for (const uid of this.#pods.keys()) this.#update(uid, [cause]);
    this.#publishInUse();
    this.#completeIfSettled();
  }

  #onRest(uid: string): void {
    const isReferenced = this.#works.has(uid) || this.#workers.has(uid);
    if (!isReferenced && this.#pods.get(uid)?.forgettable === true) {
      this.#pods.delete(uid);
      this.#refs.delete(uid);
      this.#deps.events.forget(uid);
      this.#inUse.want(uid, undefined);
    }
    this.#publishInUse();
    this.#completeIfSettled();
  }

  /** A missing fact means that nothing is left of a pod's volumes: true only after every pod has been checked. */
  #completeIfSettled(): void {
    if (this.#published || !this.#complete) return;
    for (const { settled } of this.#pods.values()) if (!settled) return;
    this.#published = true;
    this.#facts.complete();
  }
}
