import type { Bus, Cause, FactReader } from '@kubus/bus';
import type { KernelMemory } from '@kubus/cgroup';
import type { DnsSettings, SeccompSettings } from '@kubus/container-config';
import {
  type Pod,
  type PodRef,
  type PodWork,
  type ResourceList,
  type ServiceShare,
  podEvent,
  podStatus,
  podWork,
  podWorker,
  workerNodeEvent,
} from '@kubus/contracts';
import type { Rate } from '@kubus/flow';
import {
  type CrashLoopOptions,
  type DeadContainerPolicy,
  crashLoopLimits,
  defaultDeadContainers,
  surplusContainers,
} from '@kubus/pod-lifecycle';
import { type Clock, type Ids, type Logger, type RecordStore, toError } from '@kubus/ports';
import { EventRecorder, type NodeEvents, OwnershipLost, SharedRecords } from '@kubus/service-kit';
import { PastRuns } from './containers/past-runs.ts';
import type { RunningLog } from './logs/log-rotation.ts';
import { WorkerMetrics } from './metrics/worker-metrics.ts';
import type { HookRequests, PodCgroups, PodFiles } from './ports.ts';
import { type PodRecord, readRecord } from './records/pod-record.ts';
import { UnclaimedRecords } from './records/unclaimed-records.ts';
import { FencingTokenNumbers } from './runtime/fencing-token-numbers.ts';
import { FirstReports } from './worker/first-reports.ts';
import { NodeFacts } from './worker/node-facts.ts';
import { Ownership } from './worker/ownership.ts';
import { PodWorker } from './worker/pod-worker.ts';
import { ReleasedPods } from './worker/released-pods.ts';
import type { Enforcement, ExclusiveCpus, WorkerDeps } from './worker/worker-deps.ts';

export interface PodWorkersOptions {
  readonly bus: Bus;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly logger: Logger;
  /** The folder that all instances share. */
  readonly records: RecordStore;
  /** The instances that are assumed until a fact lists them. */
  readonly share: ServiceShare;
  readonly files: PodFiles;
  readonly cgroups: PodCgroups;
  readonly hooks: HookRequests;
  /** Takes a further epoch, greater than all earlier ones (see `Slot`). */
  readonly nextEpoch: () => number;
  /** The node's addresses while no Node object has any. */
  readonly nodeIps: readonly string[];
  /** The node has no API server. Default: false. */
  readonly standAlone?: boolean | undefined;
  readonly dns: Pick<DnsSettings, 'clusterDns' | 'clusterDomain'>;
  /** Omitted: a container without a profile runs unconfined. */
  readonly seccomp?: SeccompSettings | undefined;
  /** Bytes. */
  readonly memoryCapacity: bigint;
  readonly kernel?: KernelMemory | undefined;
  /** Omitted: the reference kubelet's defaults. */
  readonly enforcement?: Enforcement | undefined;
  readonly exclusive?: ExclusiveCpus | undefined;
  /** The node's resources for pods while no Node object has any. */
  readonly allocatable: ResourceList;
  /** Omitted: the reference kubelet's delays. */
  readonly crashLoop?: CrashLoopOptions | undefined;
  /** How many ended containers stay. Omitted: the reference kubelet's defaults. */
  readonly deadContainers?: DeadContainerPolicy | undefined;
  /** Milliseconds between two syncs of a pod that is in its desired state. */
  readonly syncEveryMs: number;
  /** See {@link EventRecorder}. */
  readonly eventRate?: Rate | undefined;
}

/** A pod is being taken over under a term; a later term takes it over again. */
interface Taking {
  readonly term: number;
  /** The message that assigned the pod. */
  readonly cause: Cause;
  /** Passes to its worker what has arrived in the meantime. */
  brief: (worker: PodWorker) => void;
}

/**
 * All pods' workers of one instance: passes each its work and pod states. It takes a pod over with the
 * record that its last owner has left, and releases it as soon as another instance owns it.
 */
export class PodWorkers {
  /** The metrics of the workers. */
  readonly metrics: WorkerMetrics;
  readonly #deps: WorkerDeps;
  readonly #facts: NodeFacts;
  readonly #workers = new Map<string, PodWorker>();
  /** Pods whose records are being taken over. */
  readonly #taking = new Map<string, Taking>();
  readonly #released: ReleasedPods;
  readonly #firstReports: FirstReports;
  readonly #unclaimed: UnclaimedRecords;
  readonly #works: FactReader<PodWork>;
  #bridgeEpoch = 0;
  #worksComplete = false;

  private constructor(options: PodWorkersOptions, recorded: Iterable<string>) {
    const { bus, clock } = options;
    const workers = () => this.#workers.values();
    this.metrics = new WorkerMetrics(clock);
    this.#facts = new NodeFacts(bus, { workers, worker: (uid) => this.#workers.get(uid) });
    this.#deps = sharedDeps(options, this.#facts, this.metrics);
    const { records, states, statuses, logger } = this.#deps;
    this.#released = new ReleasedPods({ facts: [states, statuses], records, logger });
    this.#firstReports = new FirstReports([states, statuses]);
    this.#works = bus.reader(podWork, {
      changed: ({ key, value, cause }) => {
        if (value.worker === bus.instance) this.#give(key, value, cause);
        else this.#release(key);
      },
      removed: ({ key }, cause) => this.#workRemoved(key, cause),
      complete: () => {
        this.#worksComplete = true;
        this.#unclaimed.allWorks();
      },
    });
    this.#unclaimed = new UnclaimedRecords({
      ...{ ...options, records, keys: recorded },
      isKnown: (uid) => this.#works.get(uid) !== undefined,
      isHere: (uid) => this.#workers.has(uid) || this.#taking.has(uid),
      take: (uid, { record, term }) => {
        this.#released.regain(uid);
        this.#add(uid, record.ref, { term, record });
      },
      release: (uid) => this.#release(uid),
      checked: () => this.#firstReports.recordsKnown(),
    });
    bus.onPeer((service, _instance, epoch) => {
      if (service !== 'cri-bridge' || epoch <= this.#bridgeEpoch) return;
      const first = this.#bridgeEpoch === 0;
      this.#bridgeEpoch = epoch;
      if (!first) for (const worker of workers()) worker.bridgeRestarted();
    });
  }

  /** Lists the pods for which earlier processes have left records, then starts. */
  static async start(options: PodWorkersOptions): Promise<PodWorkers> {
    return new PodWorkers(options, (await options.records.load()).keys());
  }

  get count(): number {
    return this.#workers.size;
  }

  /** Events of the node, for its operators. */
  get nodeEvents(): NodeEvents {
    return this.#deps.nodeEvents;
  }

  /** Whether the pod may be desired, or may have local state; true for every pod until all pods are known. */
  mayExist(uid: string): boolean {
    if (!this.#worksComplete || !this.#facts.runtimeKnown) return true;
    const known = this.#workers.has(uid) || this.#unclaimed.has(uid) || this.#works.get(uid) !== undefined;
    return known || this.#facts.hasLocalState(uid);
  }

  /** The pods of this instance that have not ended, with what they have been granted. */
  get activePods(): Pod[] {
    return [...this.#workers.values()].flatMap(({ activePod }) => activePod ?? []);
  }

  /** The logs of the running containers. */
  get runningLogs(): RunningLog[] {
    return [...this.#workers].flatMap(([podUid, { containers }]) =>
      containers.flatMap(({ id, logPath, state }) =>
        state === 'running' && logPath !== '' ? [{ podUid, containerId: id, path: logPath }] : [],
      ),
    );
  }

  /** The error with which a pod's record could not be written, if there is one. */
  get saveError(): string | undefined {
    for (const { saveError } of this.#workers.values()) if (saveError !== undefined) return saveError;
    return undefined;
  }

  stop(): void {
    this.#unclaimed.stop();
    for (const worker of this.#workers.values()) worker.stop();
  }

  /** Stops, and leaves every pod to its next worker with everything recorded. */
  async handOver(): Promise<void> {
    this.#unclaimed.stop();
    await Promise.all([...this.#workers.values()].map((worker) => worker.handOver()));
    // There may be no later process that would remove their facts.
    for (const [uid, worker] of [...this.#workers]) if (worker.finished) this.#drop(uid);
  }

  /** This instance owns the pod. */
  #give(uid: string, work: PodWork, cause: Cause): void {
    const brief = (worker: PodWorker) => {
      worker.setWork(work, cause);
      if (worker.finished) this.#firstReports.drop(uid);
    };
    const { ref, term = 0 } = work;
    const worker = this.#workers.get(uid);
    const taking = this.#taking.get(uid);
    if (worker !== undefined) brief(worker);
    else if (taking?.term === term) taking.brief = brief;
    else void this.#take(uid, ref, { term, brief, cause });
  }

  /**
   * Takes over a pod at the point where its last worker stopped, in an earlier process of this instance or in another
   * one.
   */
  async #take(uid: string, ref: PodRef, taking: Taking): Promise<void> {
    const { term, cause } = taking;
    this.#taking.set(uid, taking);
    this.#firstReports.await(uid);
    this.#released.regain(uid);
    const { records, logger } = this.#deps;
    let record: PodRecord | undefined;
    try {
      record = readRecord(uid, await records.take(uid, term), logger);
    } catch (error) {
      if (error instanceof OwnershipLost && this.#taking.get(uid) === taking) this.#release(uid);
      logger.warn({ podUid: uid, err: toError(error) }, 'taking over the pod record failed');
    }
    // The pod may belong to another instance by now, or to this one again.
    if (this.#taking.get(uid) !== taking) return;
    this.#taking.delete(uid);
    // A finished pod that is assigned again exists again: earlier knowledge of it is dropped.
    const counts = record?.machine.state !== 'finished';
    taking.brief(this.#add(uid, ref, { term, cause, record: counts ? record : undefined }));
  }

  /** Another instance owns the pod. */
  #release(uid: string): void {
    this.#taking.delete(uid);
    this.#firstReports.settle(uid);
    const worker = this.#workers.get(uid);
    if (worker === undefined) return;
    this.#workers.delete(uid);
    this.#released.release(uid, { term: worker.term, written: worker.handOver() });
  }

  /** The sync loop no longer has work for the pod: usually because it is finished. */
  #workRemoved(uid: string, cause: Cause): void {
    const worker = this.#workers.get(uid);
    if (worker?.finished === true) this.#drop(uid, cause);
    else if (worker !== undefined) worker.endWithoutWork(cause);
    const taking = this.#taking.get(uid);
    if (taking !== undefined) taking.brief = (taken) => taken.endWithoutWork(cause);
    this.#released.end(uid, cause);
  }

  #add(
    uid: string,
    ref: PodRef,
    { term, record, cause }: { term: number; record: PodRecord | undefined; cause?: Cause | undefined },
  ): PodWorker {
    this.#firstReports.await(uid);
    const ownership: Ownership = new Ownership({
      ...{ uid, term, facts: [this.#deps.states, this.#deps.statuses] },
      onTaken: () => {
        // A worker of an earlier term may receive it late, when this instance owns the pod again.
        if (this.#workers.get(uid)?.term !== ownership.term) return;
        this.#release(uid);
        if (this.#worksComplete && this.#works.get(uid) === undefined) this.#released.end(uid);
      },
    });
    const worker: PodWorker = new PodWorker({
      ...{ ref, ownership, record, cause },
      deps: this.#deps,
      onSynced: () => {
        this.#firstReports.settle(uid);
        // No removal of work would follow, since there is no work.
        if (worker.finished && this.#workers.get(uid) === worker && this.#works.get(uid) === undefined) this.#drop(uid);
      },
    });
    this.#workers.set(uid, worker);
    return worker;
  }

  #drop(uid: string, cause?: Cause): void {
    this.#workers.delete(uid);
    this.#firstReports.drop(uid);
    this.#deps.events.forget(uid);
    this.#released.removeFacts(uid, { term: 0, cause });
  }
}

/** What all workers share. */
function sharedDeps(options: PodWorkersOptions, facts: NodeFacts, metrics: WorkerMetrics): WorkerDeps {
  const {
    bus,
    clock,
    eventRate,
    crashLoop,
    nodeIps,
    allocatable,
    deadContainers: policy = defaultDeadContainers,
  } = options;
  const recorder = new EventRecorder({ bus, clock, rate: eventRate });
  const tokens = new FencingTokenNumbers(bus.epoch, options.nextEpoch);
  return {
    ...options,
    standAlone: options.standAlone ?? false,
    nodeIps: () => (facts.nodeIps.length > 0 ? facts.nodeIps : nodeIps),
    allocatable: () => ({ ...allocatable, ...facts.allocatable }),
    metrics,
    events: recorder.ofPods(podEvent),
    nodeEvents: recorder.ofNode(workerNodeEvent),
    records: new SharedRecords(options.records, bus.instance),
    states: bus.owner(podWorker),
    statuses: bus.owner(podStatus),
    runtimeCondition: () => facts.runtimeCondition,
    networkCondition: () => facts.networkCondition,
    probesOf: (uid) => facts.probesOf(uid),
    volumesOf: (uid) => facts.volumesOf(uid),
    volumesKnown: () => facts.volumesKnown,
    absentAt: (uid) => facts.absentAt(uid),
    objects: facts.objects,
    devices: facts.devices,
    cpuPool: () => facts.cpuPool,
    crashLoop: crashLoopLimits(crashLoop),
    deadContainers: (keeps) => {
      const now = clock.now();
      return { policy, now, keeps, surplus: surplusContainers(facts.runtimePods(), policy, now) };
    },
    removesEnded: () => facts.removesEnded,
    pastRuns: new PastRuns(clock),
    restartAllContainers: true,
    nextToken: (fencedOff) => tokens.next(fencedOff),
  };
}
