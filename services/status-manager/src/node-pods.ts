import type { Bus, Cause, Fact, FactReader } from '@kubus/bus';
import type { sourceNames } from '@kubus/contracts';
import {
  type ClusterNode,
  type Pod,
  type PodRef,
  type PodStatusReport,
  type PodUpdate,
  type PodWork,
  type PodWorkerReport,
  clusterNode,
  configuredSources,
  desiredPods,
  podRefOf,
  podStatus,
  podWork,
  podWorker,
} from '@kubus/contracts';
import { nameOf } from './api-pods.ts';

/** Sources of static pods. */
const STATIC = ['file', 'http'] as const;

export interface NodePodsListener {
  /** The node's state of pods of that name has changed. */
  changed(name: string): void;
  /** The API server has this version of the pod. */
  reported(pod: Pod, cause: Cause): void;
  /** The pod was deleted on the API server. */
  deleted(ref: PodRef): void;
  /** What concerns all pods has changed, also those of which the node has no facts. */
  allChanged(): void;
}

/**
 * The facts of the node's services about its pods, by name: static pods and their mirror pods share a name, never a
 * UID.
 */
export class NodePods {
  readonly #node: string;
  readonly #listener: NodePodsListener;
  readonly #static: readonly FactReader<PodUpdate>[];
  readonly #api: FactReader<PodUpdate>;
  readonly #sources: FactReader<{ sources: (typeof sourceNames)[number][] }>;
  readonly #works: FactReader<PodWork>;
  readonly #workers: FactReader<PodWorkerReport>;
  readonly #statuses: FactReader<PodStatusReport>;
  readonly #nodes: FactReader<ClusterNode>;
  readonly #uids = new Map<string, Set<string>>();
  /** Sources, and `works`, whose sets are complete. */
  readonly #complete = new Set<string>();

  constructor(bus: Bus, listener: NodePodsListener) {
    this.#node = bus.node;
    this.#listener = listener;
    this.#static = STATIC.map((source) =>
      bus.reader(desiredPods[source], {
        changed: ({ value }) => this.#know(podRefOf(value.pod)),
        removed: ({ value }) => this.#know(podRefOf(value.pod)),
        complete: () => this.#completed(source),
      }),
    );
    this.#api = bus.reader(desiredPods.api, {
      changed: ({ value, cause }) => listener.reported(value.pod, cause),
      removed: ({ value }) => listener.deleted(podRefOf(value.pod)),
    });
    this.#sources = bus.reader(configuredSources, { changed: () => listener.allChanged() });
    const know = {
      changed: ({ value }: Fact<{ ref: PodRef }>) => this.#know(value.ref),
      removed: ({ value }: Fact<{ ref: PodRef }>) => this.#know(value.ref),
    };
    this.#works = bus.reader<PodWork>(podWork, { ...know, complete: () => this.#completed('works') });
    this.#workers = bus.reader<PodWorkerReport>(podWorker, know);
    this.#statuses = bus.reader<PodStatusReport>(podStatus, know);
    this.#nodes = bus.reader(clusterNode, {
      changed: () => listener.allChanged(),
      removed: () => listener.allChanged(),
    });
  }

  /** Resolves when everything that was published before has been delivered. */
  async present(): Promise<void> {
    const readers = [this.#api, this.#sources, this.#works, this.#workers, this.#statuses, this.#nodes];
    await Promise.all([...this.#static, ...readers].map((reader) => reader.whenPresent()));
  }

  /** The Node object. */
  get node(): ClusterNode | undefined {
    return this.#nodes.get(this.#node)?.value;
  }

  /** Names of all pods with a fact of the node. */
  get names(): string[] {
    return [...this.#uids.keys()];
  }

  worker(uid: string): Fact<PodWorkerReport> | undefined {
    return this.#workers.get(uid);
  }

  status(uid: string): Fact<PodStatusReport> | undefined {
    return this.#statuses.get(uid);
  }

  /** `metadata.resourceVersion` of a pod of the API, as last received. */
  resourceVersion(uid: string): string | undefined {
    return this.#api.get(uid)?.value.pod.metadata.resourceVersion;
  }

  /** The static pod of that name that is to run now. */
  current(name: string): Fact<PodUpdate> | undefined {
    return this.#staticPods(name).find(({ key }) => this.#works.get(key)?.value.work === 'sync');
  }

  /** Whether a source has a static pod of that name, one is still ending, or that is not known yet. */
  claims(name: string): boolean {
    return !this.#allComplete || this.#staticPods(name).length > 0 || this.#uidsOf(name).some((uid) => this.#ends(uid));
  }

  /** Whether any of the node's services has a fact of the pod. */
  hasFacts(uid: string): boolean {
    const readers = [...this.#static, this.#api, this.#works, this.#workers, this.#statuses];
    return readers.some((reader) => reader.get(uid) !== undefined);
  }

  /** The messages behind the current state of a pod, the last one first. */
  causes(uid: string): readonly Cause[] {
    const facts = [this.#statuses.get(uid), this.#workers.get(uid)];
    const causes = facts.flatMap((fact) => (fact === undefined ? [] : [fact.cause]));
    return causes.sort((one, other) => (other.received ?? 0) - (one.received ?? 0));
  }

  #ends(uid: string): boolean {
    const work = this.#works.get(uid)?.value;
    return work !== undefined && work.source !== 'api' && this.#workers.get(uid)?.value.state !== 'finished';
  }

  #staticPods(name: string): Fact<PodUpdate>[] {
    return this.#uidsOf(name).flatMap((uid) => this.#static.flatMap((pods) => pods.get(uid) ?? []));
  }

  #uidsOf(name: string): string[] {
    return [...(this.#uids.get(name) ?? [])];
  }

  get #allComplete(): boolean {
    // There is one such fact, whatever its key.
    const [sources] = [...this.#sources].map(({ value }) => value.sources);
    return sources !== undefined && [...sources, 'works'].every((one) => one === 'api' || this.#complete.has(one));
  }

  #completed(what: string): void {
    this.#complete.add(what);
    this.#listener.allChanged();
  }

  #know(ref: PodRef): void {
    const name = nameOf(ref);
    const uids = this.#uids.get(name) ?? new Set();
    this.#uids.set(name, uids);
    if (this.hasFacts(ref.uid)) uids.add(ref.uid);
    else uids.delete(ref.uid);
    if (uids.size === 0) this.#uids.delete(name);
    this.#listener.changed(name);
  }
}
