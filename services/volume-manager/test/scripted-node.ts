import { type LocalMember, LocalBroker } from '@kubus/bus/testing';
import type { Bus, FactOwner, FactReader } from '@kubus/bus';
import {
  type Pod,
  type PodVolumes,
  type PodWork,
  type PodWorkerReport,
  type ServiceName,
  type SubPathsRequest,
  type VolumeClaim,
  type WorkerState,
  claimKey,
  podRefOf,
  podVolumes,
  podWork,
  podWorker,
  prepareSubPaths,
  volumeClaim,
  volumeEvent,
} from '@kubus/contracts';
import type { ObjectClient, ObjectReader } from '@kubus/object-socket';
import { type Clock, type Logger, type RecordStore, silentLogger } from '@kubus/ports';
import { Conditions } from '@kubus/ports/testing';
import { CsiService, type CsiVolumes, type VolumeHost, VolumeManager } from '../src/index.ts';

/** The source of values and tokens. */
export type Values = Pick<ObjectClient, 'read' | 'token'>;

type Mount = Omit<SubPathsRequest['mounts'][number], 'index'>;

export type Volumes = NonNullable<Pod['spec']['volumes']>;

/** A pod whose only container mounts all of its volumes. */
export function podWith(uid: string, volumes: Volumes, spec: Partial<Pod['spec']> = {}): Pod {
  const volumeMounts = volumes.map(({ name }) => ({ name, mountPath: `/${name}` }));
  return {
    metadata: { name: uid, namespace: 'default', uid },
    spec: { volumes, containers: [{ name: 'main', volumeMounts }], ...spec },
  };
}

/** The services around the volume manager, played by the test. */
export class ScriptedNode {
  readonly #clock: Clock;
  readonly broker = new LocalBroker('node0');
  #claims: FactOwner<VolumeClaim> | undefined;
  readonly #works: FactOwner<PodWork>;
  readonly #workers: FactOwner<PodWorkerReport>;
  readonly #facts: FactReader<PodVolumes>;
  readonly #caller: Bus;
  readonly #conditions = new Conditions();
  #running: { member: LocalMember; manager: VolumeManager; csi: CsiService | undefined } | undefined;
  #epoch = 0;
  /** Publishes as object-cache and node-agent do. */
  readonly cache: Bus;
  readonly agent: Bus;
  /** Instances whose set of volumes has been complete, once per process. */
  completions = 0;
  /** Reason and message of each event. */
  readonly events: string[] = [];
  /** UIDs of pods whose volumes were published as removed. */
  readonly removed = new Set<string>();

  constructor(clock: Clock) {
    this.#clock = clock;
    this.cache = this.broker.join('object-cache', clock).bus;
    this.agent = this.broker.join('node-agent', clock).bus;
    this.#works = this.broker.join('sync-loop', clock).bus.owner(podWork);
    const workers = this.broker.join('pod-workers', clock).bus;
    this.#caller = workers;
    this.#workers = workers.owner(podWorker);
    const look = () => this.look();
    this.broker.join('status-manager', clock).bus.subscribe(volumeEvent, ({ payload: { reason, message } }) => {
      this.events.push(`${reason} ${message}`);
      look();
    });
    this.#facts = workers.reader(podVolumes, {
      changed: look,
      removed: ({ key }) => {
        this.removed.add(key);
        look();
      },
      complete: () => {
        this.completions += 1;
        look();
      },
    });
  }

  get manager(): VolumeManager {
    if (this.#running === undefined) throw new Error('the volume manager is not running');
    return this.#running.manager;
  }

  async start(parts: {
    root: string;
    /** The volumes of CSI drivers, where there are any. */
    host: VolumeHost | ((csi: CsiVolumes) => VolumeHost);
    records: RecordStore;
    objects?: ObjectReader;
    values?: Values;
    logger?: Logger;
    sizeLimits?: boolean;
  }): Promise<void> {
    const { root, host, records, objects, values, logger = silentLogger, sizeLimits = true } = parts;
    const member = this.broker.join('volume-manager', this.#clock, ++this.#epoch);
    const { bus } = member;
    const csi =
      typeof host === 'function'
        ? await CsiService.start({ root, bus, clock: this.#clock, logger, values })
        : undefined;
    const manager = await VolumeManager.start({
      bus,
      clock: this.#clock,
      logger,
      records,
      host: typeof host === 'function' && csi !== undefined ? host(csi.volumes) : (host as VolumeHost),
      csiUses: () => csi?.volumes.uses ?? [],
      objects,
      sizeLimits,
      settings: { root, memory: 1024n ** 3n, noSwap: false },
    });
    csi?.onRegistered(() => manager.tryAgain());
    this.#running = { member, manager, csi };
  }

  /** Ends it abruptly; what it is doing is completed. */
  async kill(): Promise<void> {
    const running = this.#running;
    this.#running = undefined;
    running?.member.leave();
    await running?.csi?.stop();
    await running?.manager.stop();
  }

  /** The bus, as a service that the test plays or runs has it. */
  join(service: ServiceName, clock: Clock): LocalMember {
    return this.broker.join(service, clock, ++this.#epoch);
  }

  want(pod: Pod, work: PodWork['work'] = 'sync', source: PodWork['source'] = 'file'): void {
    const ref = podRefOf(pod);
    const [reason, worker, firstSeen] = ['test', 'pod-workers-0', '2030-01-01T00:00:00Z'] as const;
    this.#works.put(ref.uid, { ref, pod, source, work, reason, worker, firstSeen }, { pod: ref.uid });
  }

  /** Publishes a claim. */
  claim(claim: VolumeClaim): void {
    this.#claims ??= this.cache.owner(volumeClaim);
    this.#claims.put(claimKey(claim), claim);
  }

  unwant(uid: string): void {
    this.#works.remove(uid, { pod: uid });
  }

  /** Publishes the state of the pod's worker; undefined: removes it. */
  worker(uid: string, state: WorkerState | undefined): void {
    if (state === undefined) this.#workers.remove(uid, { pod: uid });
    else {
      const ref = { namespace: 'default', name: uid, uid };
      this.#workers.put(uid, { ref, state, since: '2030-01-01T00:00:00Z' }, { pod: uid });
    }
  }

  complete(): void {
    this.#works.complete();
    this.#workers.complete();
  }

  /** The paths for a container's mounts, by their index. Rejects with CommandFailed. */
  async subPaths(uid: string, mounts: readonly Mount[], parts: Partial<SubPathsRequest> = {}): Promise<string[]> {
    const { result } = await this.#caller.call(prepareSubPaths, uid, {
      ref: { namespace: 'default', name: uid, uid },
      container: 'main',
      mounts: mounts.map((mount, index) => ({ index, ...mount })),
      environment: { device: [], steps: [], services: [] },
      objects: [],
      ...parts,
    });
    return Object.values(result.paths);
  }

  /** Everything that was published on the bus. */
  get said(): readonly { readonly subject: string; readonly data: string }[] {
    return this.broker.said;
  }

  /** The fact about a pod's volumes now. */
  published(uid: string): PodVolumes | undefined {
    return this.#facts.get(uid)?.value;
  }

  /** Checks again whether awaited conditions hold. */
  look(): void {
    this.#conditions.changed();
  }

  /** Resolves when `condition` holds; it is checked after each fact. */
  until(condition: () => boolean): Promise<void> {
    return this.#conditions.until(condition);
  }

  untilReady(uid: string): Promise<void> {
    return this.until(() => this.published(uid)?.ready === true);
  }

  untilRemoved(uid: string): Promise<void> {
    return this.until(() => this.published(uid) === undefined);
  }
}
