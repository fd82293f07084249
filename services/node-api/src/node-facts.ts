import type { Bus, FactReader } from '@kubus/bus';
import {
  type ClusterNode,
  type PodStatusReport,
  type PodUpdate,
  type PodWork,
  type PodWorkerReport,
  type RuntimeContainer,
  type RuntimePod,
  clusterNode,
  desiredPods,
  podStatus,
  podWork,
  podWorker,
  runtimePod,
  sourceNames,
} from '@kubus/contracts';
import type { PodsNow } from '@kubus/node-metrics';
import { type NodePod, isMirrorPod } from '@kubus/node-pods';
import { newestContainer } from '@kubus/pod-lifecycle';

/** What the node's API knows of the pods: facts of others, nothing of its own. */
export class NodeFacts {
  readonly #bus: Bus;
  readonly #sources: readonly FactReader<PodUpdate>[];
  readonly #statuses: FactReader<PodStatusReport>;
  readonly #works: FactReader<PodWork>;
  readonly #workers: FactReader<PodWorkerReport>;
  readonly #runtime: FactReader<RuntimePod>;
  readonly #node: FactReader<ClusterNode>;
  readonly #nodeListeners: (() => void)[] = [];
  /** By the pod's UID: who wants to hear of its containers. */
  readonly #listeners = new Map<string, Set<() => void>>();

  private constructor(bus: Bus) {
    const tell = ({ key }: { key: string }) => {
      for (const listener of this.#listeners.get(key) ?? []) listener();
    };
    this.#bus = bus;
    this.#sources = sourceNames.map((name) => bus.reader(desiredPods[name]));
    this.#statuses = bus.reader(podStatus);
    this.#works = bus.reader(podWork);
    this.#workers = bus.reader(podWorker);
    this.#runtime = bus.reader(runtimePod, { changed: tell, removed: tell });
    this.#node = bus.reader(clusterNode, { changed: () => this.#nodeListeners.forEach((listener) => listener()) });
  }

  /** Resolves when everything that is known now is there. */
  static async read(bus: Bus): Promise<NodeFacts> {
    const facts = new NodeFacts(bus);
    const ofPods = [facts.#statuses, facts.#works, facts.#workers, facts.#runtime];
    await Promise.all([...facts.#sources, ...ofPods, facts.#node].map((reader) => reader.whenPresent()));
    return facts;
  }

  /** Every pod that a source wants on the node; copies of static pods are none. */
  pods(): NodePod[] {
    return this.#sources
      .flatMap((source) => [...source])
      .filter(({ value }) => !isMirrorPod(value.pod))
      .map(({ key, value }) => ({ pod: value.pod, status: this.#statuses.get(key)?.value.status }));
  }

  /**
   * A static pod has the name of its copy. Where sources want the same name, the node's own files come first.
   *
   * @param uid the one that it has to have; left out, any
   */
  find(namespace: string, name: string, uid?: string): NodePod | undefined {
    const found = this.pods().find(
      ({ pod: { metadata } }) => metadata.namespace === namespace && metadata.name === name,
    );
    return uid === undefined || found?.pod.metadata.uid === uid ? found : undefined;
  }

  /** Everything that the pods are counted by. */
  podsNow(): PodsNow {
    return {
      desired: this.#sources.flatMap((source) => [...source].map(({ value }) => value)),
      works: [...this.#works].map(({ value }) => value),
      runtime: this.runtimePods(),
      worker: (uid) => this.#workers.get(uid)?.value.state,
      status: (uid) => this.#statuses.get(uid)?.value.status,
    };
  }

  /** What the runtime has of each pod. */
  runtimePods(): RuntimePod[] {
    return [...this.#runtime].map(({ value }) => value);
  }

  /** A run of a pod's container as the runtime has it, by the runtime's own id. */
  run(pod: string, id: string): RuntimeContainer | undefined {
    return this.#runtime.get(pod)?.value.containers.find((container) => container.id === id);
  }

  /** The newest run of a container; undefined when there is none. */
  newestRun(pod: string, container: string): RuntimeContainer | undefined {
    return newestContainer(this.#runtime.get(pod)?.value, container);
  }

  /** The id of the pod's newest sandbox that is ready; undefined when there is none. */
  sandbox(pod: string): string | undefined {
    return this.#runtime.get(pod)?.value.sandboxes.find(({ ready }) => ready)?.id;
  }

  /** Calls `listener` after each change of what the runtime has of the pod, until the returned function is called. */
  onRuntimeChange(pod: string, listener: () => void): () => void {
    const listeners = this.#listeners.get(pod) ?? new Set();
    this.#listeners.set(pod, listeners.add(listener));
    return () => {
      listeners.delete(listener);
      if (listeners.size === 0 && this.#listeners.get(pod) === listeners) this.#listeners.delete(pod);
    };
  }

  /** The addresses of the Node object; undefined while that is not known. */
  addresses(): ClusterNode['addresses'] | undefined {
    return this.#node.get(this.#bus.node)?.value.addresses;
  }

  /** Calls `listener` after each change of the Node object. */
  onNodeChange(listener: () => void): void {
    this.#nodeListeners.push(listener);
  }

  /** The sync-loop that has told of all its pods, or what is missing to that. */
  syncLoop(): { readonly http: string | undefined } | string {
    if (!this.#bus.transport.connected) return 'there is no connection to the bus';
    const peers = [...this.#bus.peers].filter(({ service }) => service === 'sync-loop');
    const newest = peers.sort((a, b) => b.epoch - a.epoch)[0];
    if (newest === undefined) return 'sync-loop has not been heard of';
    if (this.#works.completed(newest.instance) !== newest.epoch) return 'sync-loop has not told of all pods yet';
    return { http: newest.http };
  }
}
