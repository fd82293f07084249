import type { Bus, Cause, FactReader } from '@kubus/bus';
import {
  type ClusterNode,
  type CpuPool,
  type NetworkCondition,
  type NodePressure,
  type Pod,
  type PodProbes,
  type PodVolumes,
  type ResourceList,
  type RuntimeCondition,
  type RuntimePod,
  clusterNode,
  cpuPool,
  networkCondition,
  nodePressure,
  podProbes,
  podVolumes,
  runtimeCondition,
  runtimePod,
} from '@kubus/contracts';
import { hostIpsOf } from '@kubus/node-status';
import { DeviceFacts } from '../devices/device-facts.ts';
import { ObjectFacts } from '../objects/object-facts.ts';
import type { PodWorker } from './pod-worker.ts';

/** The workers that are notified of changed facts. */
export interface FactListeners {
  readonly worker: (uid: string) => PodWorker | undefined;
  readonly workers: () => Iterable<PodWorker>;
}

/** The facts of other services that the workers use; notifies each worker of changes. */
export class NodeFacts {
  /** What is known of the API server's objects. */
  readonly objects: ObjectFacts;
  readonly devices: DeviceFacts;
  readonly #node: FactReader<ClusterNode>;
  readonly #cpuPool: FactReader<CpuPool>;
  readonly #nodeName: string;
  readonly #probes: FactReader<PodProbes>;
  readonly #volumes: FactReader<PodVolumes>;
  readonly #runtimePods: FactReader<RuntimePod>;
  readonly #pressure: FactReader<NodePressure>;
  #runtimeCondition: RuntimeCondition | undefined;
  #networkCondition: NetworkCondition | undefined;
  #volumesKnown = false;
  /** The epoch of the bridge that has published the states of all pods. */
  #runtimeKnown: number | undefined;

  constructor(bus: Bus, { worker, workers }: FactListeners) {
    const eachWorker = (action: (one: PodWorker) => void) => {
      for (const one of workers()) action(one);
    };
    this.#nodeName = bus.node;
    this.#node = bus.reader(clusterNode);
    this.objects = new ObjectFacts(bus, (concerns: (pod: Pod) => boolean, cause: Cause) =>
      eachWorker((one) => one.objectsChanged(concerns, cause)),
    );
    this.devices = new DeviceFacts(bus, (uid, cause) => worker(uid)?.devicesChanged(cause));
    this.#cpuPool = bus.reader(cpuPool, {
      changed: ({ cause }) => eachWorker((one) => one.nodeChanged('cpus', cause)),
    });
    this.#probes = bus.reader(podProbes, {
      changed: ({ key, value, cause }) => worker(key)?.observeProbes(value, cause),
    });
    this.#volumes = bus.reader(podVolumes, {
      changed: ({ key, cause }) => worker(key)?.volumesChanged(cause),
      removed: ({ key }, cause) => worker(key)?.volumesChanged(cause),
      complete: (_instance, _epoch, cause) => {
        this.#volumesKnown = true;
        eachWorker((one) => one.volumesChanged(cause));
      },
    });
    this.#runtimePods = bus.reader(runtimePod, {
      changed: ({ key, value, cause }) => worker(key)?.observe(value, cause),
      removed: ({ key }, cause) => worker(key)?.observeRemoval(cause),
      complete: (_instance, epoch) => (this.#runtimeKnown = epoch),
    });
    this.#pressure = bus.reader(nodePressure, {
      changed: ({ value, cause }) => {
        if (value.removesEnded === true) eachWorker((one) => one.nodeChanged('space', cause));
      },
    });
    bus.reader(runtimeCondition, {
      changed: ({ value, cause }) => {
        this.#runtimeCondition = value;
        if (value.ready) eachWorker((one) => one.nodeReady(cause));
      },
    });
    bus.reader(networkCondition, {
      changed: ({ value, cause }) => {
        this.#networkCondition = value;
        if (value.ready) eachWorker((one) => one.nodeReady(cause));
      },
    });
  }

  /** Undefined before the bridge has published it. */
  get runtimeCondition(): RuntimeCondition | undefined {
    return this.#runtimeCondition;
  }

  /** Undefined before the bridge has published it. */
  get networkCondition(): NetworkCondition | undefined {
    return this.#networkCondition;
  }

  /** The volume manager has published the volumes of all pods. */
  get volumesKnown(): boolean {
    return this.#volumesKnown;
  }

  /** The bridge has published the states of all pods. */
  get runtimeKnown(): boolean {
    return this.#runtimeKnown !== undefined;
  }

  /** The epoch of the bridge whose complete set of pods does not contain this one; undefined when it may have something of it. */
  absentAt(uid: string): number | undefined {
    return this.#runtimePods.get(uid) === undefined ? this.#runtimeKnown : undefined;
  }

  /** The addresses of the Node object; empty when there are none. */
  get nodeIps(): readonly string[] {
    return hostIpsOf(this.#node.get(this.#nodeName)?.value.addresses ?? []);
  }

  /** The resources for pods in the Node object; empty when there are none. */
  get allocatable(): ResourceList {
    return this.#node.get(this.#nodeName)?.value.allocatable ?? {};
  }

  /** The CPUs that no container has for itself; undefined: the node does not give any away. */
  get cpuPool(): string | undefined {
    return this.#cpuPool.get(this.#nodeName)?.value.cpus;
  }

  /** The node is short of disk space, so that pods that have ended keep nothing. */
  get removesEnded(): boolean {
    return this.#pressure.get(this.#nodeName)?.value.removesEnded === true;
  }

  /** What the runtime has of all pods. */
  *runtimePods(): Iterable<RuntimePod> {
    for (const { value } of this.#runtimePods) yield value;
  }

  probesOf(uid: string): PodProbes | undefined {
    return this.#probes.get(uid)?.value;
  }

  volumesOf(uid: string): PodVolumes | undefined {
    return this.#volumes.get(uid)?.value;
  }

  /** The runtime or the volume manager has something of the pod. */
  hasLocalState(uid: string): boolean {
    return this.#runtimePods.get(uid) !== undefined || this.#volumes.get(uid) !== undefined;
  }
}
