import type { Bus, Cause, FactReader } from '@kubus/bus';
import type { DnsSettings } from '@kubus/container-config';
import {
  type NetworkCondition,
  type PodProbes,
  type PodRef,
  type PodVolumes,
  type ResourceList,
  type RuntimeCondition,
  networkCondition,
  podProbes,
  podStatus,
  podVolumes,
  podWake,
  podWork,
  podWorker,
  runtimeCondition,
  runtimePod,
} from '@kubus/contracts';
import { type CrashLoopOptions, crashLoopLimits } from '@kubus/pod-lifecycle';
import type { Clock, Ids, Logger, RecordStore } from '@kubus/ports';
import { ObjectFacts } from './object-facts.ts';
import { type PodRecord, podRecordSchema } from './pod-record.ts';
import { PodWorker } from './pod-worker.ts';
import type { KernelMemory } from '@kubus/cgroup';
import type { HookRequests, PodCgroups, PodFiles } from './ports.ts';
import type { WorkerDeps } from './worker-deps.ts';

export interface PodWorkersOptions {
  readonly bus: Bus;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly logger: Logger;
  readonly records: RecordStore;
  readonly files: PodFiles;
  readonly cgroups: PodCgroups;
  readonly hooks: HookRequests;
  /** Takes a further epoch, greater than all that were given before (see `Slot`). */
  readonly nextEpoch: () => number;
  readonly nodeIps: readonly string[];
  readonly dns: Pick<DnsSettings, 'clusterDns' | 'clusterDomain'>;
  /** Bytes. */
  readonly memoryCapacity: bigint;
  readonly kernel?: KernelMemory | undefined;
  /** The node's resources for pods. */
  readonly allocatable: ResourceList;
  /** Left out: the reference kubelet's waits. */
  readonly crashLoop?: CrashLoopOptions | undefined;
  readonly syncEveryMs: number;
}

/** Fences of one life are numbered within its epoch. */
const HOLDS_PER_EPOCH = 1_000_000;

/** All pods' workers of one instance: brings each its work, wakes and runtime states. */
export class PodWorkers {
  readonly #options: PodWorkersOptions;
  readonly #deps: WorkerDeps;
  readonly #workers = new Map<string, PodWorker>();
  readonly #unpassed = new Set<string>();
  readonly #probes: FactReader<PodProbes>;
  readonly #volumes: FactReader<PodVolumes>;
  #network: NetworkCondition | undefined;
  #runtime: RuntimeCondition | undefined;
  #epoch: number;
  #holds = 0;
  #bridgeEpoch = 0;
  #worksComplete = false;
  #volumesKnown = false;
  #completed = false;

  private constructor(options: PodWorkersOptions, records: Map<string, PodRecord>) {
    const { bus } = options;
    this.#options = options;
    this.#epoch = bus.epoch;
    this.#deps = {
      ...options,
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
      crashLoop: crashLoopLimits(options.crashLoop),
      restartAllContainers: true,
      nextHold: (fencedOff) => this.#nextHold(fencedOff),
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
    for (const [uid, record] of records) this.#add(uid, record.ref, record);
    bus.reader(runtimePod, {
      changed: ({ key, value, cause }) => this.#workers.get(key)?.observe(value, cause),
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
    bus.reader(podWork, {
      changed: ({ key, value, cause }) => {
        if (value.worker !== bus.instance) return;
        const worker = this.#workers.get(key) ?? this.#add(key, value.ref, undefined);
        worker.setWork(value, cause);
        if (worker.finished) this.#unpassed.delete(key);
      },
      removed: ({ key }, cause) => {
        const worker = this.#workers.get(key);
        if (worker?.finished === true) this.#drop(key);
        else worker?.workGone(cause);
      },
      complete: (_instance, _epoch, cause) => {
        // A record without work is of a pod that nobody wants any more.
        for (const worker of [...this.#workers.values()]) if (!worker.hasWork) worker.workGone(cause);
        this.#worksComplete = true;
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

  /** Reads what earlier lives have written down, then starts. */
  static async start(options: PodWorkersOptions): Promise<PodWorkers> {
    const records = new Map<string, PodRecord>();
    for (const [key, value] of await options.records.load()) {
      const parsed = podRecordSchema.safeParse(value);
      if (parsed.success) records.set(key, parsed.data);
      else options.logger.error({ podUid: key, err: parsed.error }, 'a pod’s record is not understood and left alone');
    }
    return new PodWorkers(options, records);
  }

  get count(): number {
    return this.#workers.size;
  }

  /** Why a pod's record could not be written, if one could not. */
  get saveError(): string | undefined {
    for (const { saveError } of this.#workers.values()) if (saveError !== undefined) return saveError;
    return undefined;
  }

  stop(): void {
    for (const worker of this.#workers.values()) worker.stop();
  }

  #add(uid: string, ref: PodRef, record: PodRecord | undefined): PodWorker {
    this.#unpassed.add(uid);
    const worker = new PodWorker({
      ref,
      deps: this.#deps,
      record,
      onFirstPass: () => {
        if (this.#unpassed.delete(uid)) this.#completeIfSettled();
      },
    });
    this.#workers.set(uid, worker);
    return worker;
  }

  #nodeReady(cause: Cause): void {
    for (const worker of this.#workers.values()) worker.nodeReady(cause);
  }

  #drop(uid: string): void {
    this.#workers.delete(uid);
    this.#unpassed.delete(uid);
    this.#deps.states.remove(uid, { pod: uid });
    this.#deps.statuses.remove(uid, { pod: uid });
  }

  /** Readers may miss what is not there only after every worker has spoken once. */
  #completeIfSettled(): void {
    if (this.#completed || !this.#worksComplete || this.#unpassed.size > 0) return;
    this.#completed = true;
    this.#deps.states.complete();
    this.#deps.statuses.complete();
  }

  #nextHold(fencedOff: boolean): number {
    // Another instance has held the pod under a later epoch than ours.
    if (fencedOff) {
      this.#epoch = this.#options.nextEpoch();
      this.#holds = 0;
    }
    this.#holds += 1;
    return this.#epoch * HOLDS_PER_EPOCH + this.#holds;
  }
}
