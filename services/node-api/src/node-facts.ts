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
import type { NodePod } from '@kubus/node-requests';
import { isMirror } from '@kubus/pod';
import { newestContainer } from '@kubus/pod-lifecycle';

/** What the node API knows of the pods: facts of other services only. */
export class NodeFacts {
  readonly #bus: Bus;
  readonly #sources: readonly FactReader<PodUpdate>[];
  readonly #statuses: FactReader<PodStatusReport>;
  readonly #works: FactReader<PodWork>;
  readonly #workers: FactReader<PodWorkerReport>;
  readonly #runtime: FactReader<RuntimePod>;
  readonly #node: FactReader<ClusterNode>;
  readonly #nodeListeners: (() => void)[] = [];
  /** Keyed by the pod's UID: the listeners for changes of its containers. */
  readonly #listeners = new Map<string, Set<() => void>>();

  private constructor(bus: Bus) {
    const notify = ({ key }: { key: string }) => {
      for (const listener of this.#listeners.get(key) ?? []) listener();
    };
    this.#bus = bus;
    // Pods are looked at when somebody asks for them.
    const lazy = true;
    this.#sources = sourceNames.map((name) => bus.reader(desiredPods[name], { lazy }));
    this.#statuses = bus.reader(podStatus, { lazy });
    this.#works = bus.reader(podWork, { lazy });
    this.#workers = bus.reader(podWorker, { lazy });
    this.#runtime = bus.reader(runtimePod, { lazy, changed: notify, removed: notify });
    this.#node = bus.reader(clusterNode, { changed: () => this.#nodeListeners.forEach((listener) => listener()) });
  }

  /** Resolves when all facts that are known at this time have been read. */
  static async read(bus: Bus): Promise<NodeFacts> {
    const facts = new NodeFacts(bus);
    const ofPods = [facts.#statuses, facts.#works, facts.#workers, facts.#runtime];
    await Promise.all([...facts.#sources, ...ofPods, facts.#node].map((reader) => reader.whenPresent()));
    return facts;
  }

  /** Every pod that a source wants on the node, without mirror pods. */
  pods(): NodePod[] {
    return this.#sources
      .flatMap((source) => [...source])
      .filter(({ value }) => !isMirror(value.pod))
      .map(({ key, value }) => ({ pod: value.pod, status: this.#statuses.get(key)?.value.status }));
  }

  /**
   * A static pod has the name of its mirror pod. When several sources want the same name, the node's own files take precedence.
   *
   * @param uid the UID that the pod must have; omitted: any
   */
  find(namespace: string, name: string, uid?: string): NodePod | undefined {
    const found = this.pods().find(
      ({ pod: { metadata } }) => metadata.namespace === namespace && metadata.name === name,
    );
    return uid === undefined || found?.pod.metadata.uid === uid ? found : undefined;
  }

  /** Everything by which the pods are counted. */
  podsNow(): PodsNow {
    return {
      desired: this.#sources.flatMap((source) => [...source].map(({ value }) => value)),
      works: [...this.#works].map(({ value }) => value),
      runtime: this.runtimePods(),
      worker: (uid) => this.#workers.get(uid)?.value.state,
      status: (uid) => this.#statuses.get(uid)?.value.status,
    };
  }

  /** The pod state of each pod. */
  runtimePods(): RuntimePod[] {
    return [...this.#runtime].map(({ value }) => value);
  }

  /** A run of a pod's container as the runtime reports it, by the runtime's ID. */
  run(pod: string, id: string): RuntimeContainer | undefined {
    return this.#runtime.get(pod)?.value.containers.find((container) => container.id === id);
  }

  /** The newest run of a container; undefined when it has none. */
  newestRun(pod: string, container: string): RuntimeContainer | undefined {
    return newestContainer(this.#runtime.get(pod)?.value, container);
  }

  /** The ID of the pod's newest ready sandbox; undefined when there is none. */
  sandbox(pod: string): string | undefined {
    return this.#runtime.get(pod)?.value.sandboxes.find(({ ready }) => ready)?.id;
  }

  /** Calls `listener` after each change of the pod state, until the returned function is called. */
  onRuntimeChange(pod: string, listener: () => void): () => void {
    const listeners = this.#listeners.get(pod) ?? new Set();
    this.#listeners.set(pod, listeners.add(listener));
    return () => {
      listeners.delete(listener);
      if (listeners.size === 0 && this.#listeners.get(pod) === listeners) this.#listeners.delete(pod);
    };
  }

  /** The addresses of the Node object; undefined while they are not known. */
  addresses(): ClusterNode['addresses'] | undefined {
    return this.#node.get(this.#bus.node)?.value.addresses;
  }

  /** Calls `listener` after each change of the Node object. */
  onNodeChange(listener: () => void): void {
    this.#nodeListeners.push(listener);
  }

  /** The sync-loop that has published all its pods, or the reason why there is none yet. */
  syncLoop(): { readonly http: string | undefined } | string {
    if (!this.#bus.transport.connected) return 'there is no connection to the bus';
    const peers = [...this.#bus.peers].filter(({ service }) => service === 'sync-loop');
    const newest = peers.sort((a, b) => b.epoch - a.epoch)[0];
    if (newest === undefined) return 'no sync-loop has published its pods yet';
    if (this.#works.completed(newest.instance) !== newest.epoch) return 'sync-loop has not published all pods yet';
    return { http: newest.http };
  }
}
