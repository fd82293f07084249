import type { Bus, Cause, FactReader } from '@kubus/bus';
import type { DnsSettings } from '@kubus/container-config';
import {
  type NetworkCondition,
  type PodProbes,
  type PodRef,
  type PodVolumes,
  type PodWork,
  type ResourceList,
  type RuntimeCondition,
  type RuntimePod,
  type ServiceShare,
  clusterNode,
  networkCondition,
  podEvent,
  podProbes,
  podStatus,
  podVolumes,
  podWake,
  podWork,
  podWorker,
  runtimeCondition,
  runtimePod,
  workerNodeEvent,
} from '@kubus/contracts';
import type { Rate } from '@kubus/event-correlator';
import { hostIpsOf } from '@kubus/node-status';
import { type CrashLoopOptions, crashLoopLimits } from '@kubus/pod-lifecycle';
import { type Clock, type Ids, type Logger, type RecordStore, toError } from '@kubus/ports';
import { EventRecorder, type NodeEvents, RecordTaken, SharedRecords } from '@kubus/service-kit';
import { DeviceFacts } from './device-facts.ts';
import { HoldNumbers } from './hold-numbers.ts';
import { ObjectFacts } from './object-facts.ts';
import { type PodRecord, readRecord } from './pod-record.ts';
import type { RunningLog } from './log-rotation.ts';
import { PodWorker } from './pod-worker.ts';
import type { KernelMemory } from '@kubus/cgroup';
import type { HookRequests, PodCgroups, PodFiles } from './ports.ts';
import { Tenure } from './tenure.ts';
import { UnclaimedRecords } from './unclaimed-records.ts';
import type { WorkerDeps } from './worker-deps.ts';
import { WorkerMetrics } from './worker-metrics.ts';

export interface PodWorkersOptions {
  readonly bus: Bus;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly logger: Logger;
  /** The folder that all instances share. */
  readonly records: RecordStore;
  /** Which instances there are when nobody has spoken of them. */
  readonly share: ServiceShare;
  readonly files: PodFiles;
  readonly cgroups: PodCgroups;
  readonly hooks: HookRequests;
  /** Takes a further epoch, greater than all that were given before (see `Slot`). */
  readonly nextEpoch: () => number;
  /** The node's addresses where there is no Node that says them. */
  readonly nodeIps: readonly string[];
  readonly dns: Pick<DnsSettings, 'clusterDns' | 'clusterDomain'>;
  /** Bytes. */
  readonly memoryCapacity: bigint;
  readonly kernel?: KernelMemory | undefined;
  /** The node's resources for pods where there is no Node that says them. */
  readonly allocatable: ResourceList;
  /** Left out: the reference kubelet's waits. */
  readonly crashLoop?: CrashLoopOptions | undefined;
  readonly syncEveryMs: number;
  /** See {@link EventRecorder}. */
  readonly eventRate?: Rate | undefined;
}

/** A pod is being taken over under a term; a later term takes it over anew. */
interface Taking {
  readonly term: number;
  /** The message that gave it. */
  readonly cause: Cause;
  /** Tells its worker what has come up meanwhile. */
  tell: (worker: PodWorker) => void;
}

/**
 * All pods' workers of one instance: brings each its work, wakes and runtime states. It takes a pod up with the record
 * that the last one who had it has left, and lets go of it as soon as it is another instance's.
 */
export class PodWorkers {
  /** What the workers count. */
  readonly metrics: WorkerMetrics;
  readonly #deps: WorkerDeps;
  readonly #workers = new Map<string, PodWorker>();
  readonly #unpassed = new Set<string>();
  /** Pods whose records are being taken over. */
  readonly #taking = new Map<string, Taking>();
  /** Pods that are another instance's now: the term under which this one had them, and when its last word is written. */
  readonly #left = new Map<string, { readonly term: number; readonly written: Promise<void> }>();
  readonly #unclaimed: UnclaimedRecords;
  readonly #probes: FactReader<PodProbes>;
  readonly #volumes: FactReader<PodVolumes>;
  readonly #works: FactReader<PodWork>;
  readonly #runtimePods: FactReader<RuntimePod>;
  #network: NetworkCondition | undefined;
  #runtime: RuntimeCondition | undefined;
  #bridgeEpoch = 0;
  #worksComplete = false;
  #runtimeKnown = false;
  #volumesKnown = false;
  #recordsKnown = false;
  #completed = false;

  private constructor(options: PodWorkersOptions, recorded: Iterable<string>) {
    const { bus, clock, eventRate } = options;
    const recorder = new EventRecorder({ bus, clock, rate: eventRate });
    const holds = new HoldNumbers(bus.epoch, options.nextEpoch);
    this.metrics = new WorkerMetrics(clock);
    const node = bus.reader(clusterNode);
    const nodeIps = () => hostIpsOf(node.get(bus.node)?.value.addresses ?? []);
    const allocatable = () => node.get(bus.node)?.value.allocatable ?? {};
    this.#deps = {
      ...options,
      get nodeIps() {
        const ips = nodeIps();
        return ips.length > 0 ? ips : options.nodeIps;
      },
      get allocatable() {
        return { ...options.allocatable, ...allocatable() };
      },
      metrics: this.metrics,
      events: recorder.ofPods(podEvent),
      nodeEvents: recorder.ofNode(workerNodeEvent),
      records: new SharedRecords(options.records, bus.instance),
      states: bus.owner(podWorker),
      statuses: bus.owner(podStatus),
      runtime: () => this.#runtime,
      network: () => this.#network,
      probes: (uid) => this.#probes.get(uid)?.value,
      volumes: (uid) => this.#volumes.get(uid)?.value,
      volumesKnown: () => this.#volumesKnown,
      objects: new ObjectFacts(bus, (concerns, cause) => {
        for (const worker of this.#workers.values()) worker.objectsChanged(concerns, cause);
      }),
      devices: new DeviceFacts(bus, (uid, cause) => this.#workers.get(uid)?.devicesChanged(cause)),
      crashLoop: crashLoopLimits(options.crashLoop),
      restartAllContainers: true,
      nextHold: (fencedOff) => holds.next(fencedOff),
    };
    this.#probes = bus.reader(podProbes, {
      changed: ({ key, value, cause }) => this.#workers.get(key)?.observeProbes(value, cause),
    });
    this.#volumes = bus.reader(podVolumes, {
      changed: ({ key, cause }) => this.#workers.get(key)?.volumesChanged(cause),
      removed: ({ key }, cause) => this.#workers.get(key)?.volumesChanged(cause),
      complete: (_instance, _epoch, cause) => {
        this.#volumesKnown = true;
        for (const worker of this.#workers.values()) worker.volumesChanged(cause);
      },
    });
    this.#runtimePods = bus.reader(runtimePod, {
      changed: ({ key, value, cause }) => this.#workers.get(key)?.observe(value, cause),
      complete: () => (this.#runtimeKnown = true),
    });
    bus.reader(runtimeCondition, {
      changed: ({ value, cause }) => {
        this.#runtime = value;
        if (value.ready) this.#nodeReady(cause);
      },
    });
    bus.reader(networkCondition, {
      changed: ({ value, cause }) => {
        this.#network = value;
        if (value.ready) this.#nodeReady(cause);
      },
    });
    this.#works = bus.reader(podWork, {
      changed: ({ key, value, cause }) => {
        if (value.worker === bus.instance) this.#give(key, value, cause);
        else this.#letGo(key);
      },
      removed: ({ key }, cause) => this.#workRemoved(key, cause),
      complete: () => {
        this.#worksComplete = true;
        this.#unclaimed.allWorks();
      },
    });
    this.#unclaimed = new UnclaimedRecords({
      ...{ ...options, records: this.#deps.records, keys: recorded },
      isKnown: (uid) => this.#works.get(uid) !== undefined,
      isHere: (uid) => this.#workers.has(uid) || this.#taking.has(uid),
      take: (uid, { record, term }) => {
        this.#left.delete(uid);
        this.#add(uid, record.ref, { term, record });
      },
      letGo: (uid) => this.#letGo(uid),
      looked: () => {
        this.#recordsKnown = true;
        this.#completeIfSettled();
      },
    });
    bus.reader(podWake, {
      changed: ({ key, value, cause }) => this.#workers.get(key)?.wake(value.runtime, cause),
    });
    bus.onPeer((service, _instance, epoch) => {
      if (service !== 'cri-bridge' || epoch <= this.#bridgeEpoch) return;
      const first = this.#bridgeEpoch === 0;
      this.#bridgeEpoch = epoch;
      if (!first) for (const worker of this.#workers.values()) worker.bridgeRestarted();
    });
  }

  /** Looks up of which pods earlier lives have written something down, then starts. */
  static async start(options: PodWorkersOptions): Promise<PodWorkers> {
    return new PodWorkers(options, (await options.records.load()).keys());
  }

  get count(): number {
    return this.#workers.size;
  }

  /** For what the node's operators are to hear of. */
  get nodeEvents(): NodeEvents {
    return this.#deps.nodeEvents;
  }

  /** Whether the pod may be wanted, or something of it be there; true of every pod until all pods are known. */
  mayExist(uid: string): boolean {
    if (!this.#worksComplete || !this.#runtimeKnown) return true;
    const readers = [this.#works, this.#runtimePods, this.#volumes];
    const known = this.#workers.has(uid) || this.#unclaimed.has(uid);
    return known || readers.some((reader) => reader.get(uid) !== undefined);
  }

  /** The logs of the containers that run. */
  get runningLogs(): RunningLog[] {
    return [...this.#workers].flatMap(([podUid, { containers }]) =>
      containers.flatMap(({ id, logPath, state }) =>
        state === 'running' && logPath !== '' ? [{ podUid, containerId: id, path: logPath }] : [],
      ),
    );
  }

  /** Why a pod's record could not be written, if one could not. */
  get saveError(): string | undefined {
    for (const { saveError } of this.#workers.values()) if (saveError !== undefined) return saveError;
    return undefined;
  }

  stop(): void {
    this.#unclaimed.stop();
    for (const worker of this.#workers.values()) worker.stop();
  }

  /** Stops, and leaves every pod to its next worker with everything written down. */
  async handOver(): Promise<void> {
    this.#unclaimed.stop();
    await Promise.all([...this.#workers.values()].map((worker) => worker.handOver()));
    // There may be no next life that would take back what was said of them.
    for (const [uid, worker] of [...this.#workers]) if (worker.finished) this.#drop(uid);
  }

  /** This instance has the pod. */
  #give(uid: string, work: PodWork, cause: Cause): void {
    const tell = (worker: PodWorker) => {
      worker.setWork(work, cause);
      if (worker.finished) this.#unpassed.delete(uid);
    };
    const { ref, term = 0 } = work;
    const worker = this.#workers.get(uid);
    const begun = this.#taking.get(uid);
    if (worker !== undefined) tell(worker);
    else if (begun?.term === term) begun.tell = tell;
    else void this.#take(uid, ref, { term, tell, cause });
  }

  /** Takes up a pod where its last worker was, in an earlier life of this instance or in another one. */
  async #take(uid: string, ref: PodRef, taking: Taking): Promise<void> {
    const { term, cause } = taking;
    this.#taking.set(uid, taking);
    this.#unpassed.add(uid);
    this.#left.delete(uid);
    const { records, logger } = this.#deps;
    let record: PodRecord | undefined;
    try {
      record = readRecord(uid, await records.take(uid, term), logger);
    } catch (error) {
      if (error instanceof RecordTaken && this.#taking.get(uid) === taking) this.#letGo(uid);
      logger.warn({ podUid: uid, err: toError(error) }, 'the pod’s record could not be taken over');
    }
    // Another instance may have it by now, or this one again.
    if (this.#taking.get(uid) !== taking) return;
    this.#taking.delete(uid);
    // Of a pod that was finished once and is given again, something is there again: what was known of it does not count.
    const counts = record?.machine.state !== 'finished';
    taking.tell(this.#add(uid, ref, { term, cause, record: counts ? record : undefined }));
  }

  /** Another instance has the pod. */
  #letGo(uid: string): void {
    this.#taking.delete(uid);
    if (this.#unpassed.delete(uid)) this.#completeIfSettled();
    const worker = this.#workers.get(uid);
    if (worker === undefined) return;
    this.#workers.delete(uid);
    this.#left.set(uid, { term: worker.term, written: worker.handOver() });
    this.#deps.states.release(uid);
    this.#deps.statuses.release(uid);
  }

  /** The sync loop has nothing to say of the pod any more: usually because it is finished. */
  #workRemoved(uid: string, cause: Cause): void {
    const worker = this.#workers.get(uid);
    if (worker?.finished === true) this.#drop(uid, cause);
    else if (worker !== undefined) worker.workGone(cause);
    const taking = this.#taking.get(uid);
    if (taking !== undefined) taking.tell = (taken) => taken.workGone(cause);
    this.#endLeft(uid, cause);
  }

  /**
   * A pod that another instance had from this one is over. What this one may have said and written of it when it did not
   * know that yet, goes.
   */
  #endLeft(uid: string, cause?: Cause): void {
    const left = this.#left.get(uid);
    if (left === undefined) return;
    const { term, written } = left;
    const { records, logger } = this.#deps;
    this.#left.delete(uid);
    this.#removeFacts(uid, { term, cause });
    written
      .then(() => records.delete(uid, term))
      .catch((error: unknown) => {
        logger.debug({ podUid: uid, err: toError(error) }, 'the record of a pod is another instance’s');
      });
  }

  #add(
    uid: string,
    ref: PodRef,
    { term, record, cause }: { term: number; record: PodRecord | undefined; cause?: Cause | undefined },
  ): PodWorker {
    this.#unpassed.add(uid);
    const tenure: Tenure = new Tenure({
      ...{ uid, term, facts: [this.#deps.states, this.#deps.statuses] },
      onTaken: () => {
        // One that was let go of earlier may learn it late, when this instance has the pod again.
        if (this.#workers.get(uid)?.term !== tenure.term) return;
        this.#letGo(uid);
        if (this.#worksComplete && this.#works.get(uid) === undefined) this.#endLeft(uid);
      },
    });
    const worker: PodWorker = new PodWorker({
      ...{ ref, tenure, record, cause },
      deps: this.#deps,
      onPassed: () => {
        if (this.#unpassed.delete(uid)) this.#completeIfSettled();
        // Nobody is left to say that it may be forgotten.
        if (worker.finished && this.#workers.get(uid) === worker && this.#works.get(uid) === undefined) this.#drop(uid);
      },
    });
    this.#workers.set(uid, worker);
    return worker;
  }

  #nodeReady(cause: Cause): void {
    for (const worker of this.#workers.values()) worker.nodeReady(cause);
  }

  #drop(uid: string, cause?: Cause): void {
    this.#workers.delete(uid);
    this.#unpassed.delete(uid);
    this.#removeFacts(uid, { term: 0, cause });
  }

  #removeFacts(uid: string, { term, cause }: { term: number; cause: Cause | undefined }): void {
    for (const facts of [this.#deps.states, this.#deps.statuses]) {
      facts.claim(uid, term);
      facts.remove(uid, { pod: uid, ...(cause !== undefined && { causes: [cause] }) });
      facts.release(uid);
    }
  }

  /** Readers may miss what is not there only after every worker has spoken once. */
  #completeIfSettled(): void {
    if (this.#completed || !this.#recordsKnown || this.#unpassed.size > 0) return;
    this.#completed = true;
    this.#deps.states.complete();
    this.#deps.statuses.complete();
  }
}
