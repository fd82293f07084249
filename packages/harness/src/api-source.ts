import { randomUUID } from 'node:crypto';
import type { FactOwner } from '@kubus/bus';
import {
  CONFIG_SEEN,
  clusterNode,
  type EphemeralContainer,
  type Pod,
  type PodUpdate,
  type ResourceRequirements,
  type SourceName,
  configuredSources,
  desiredPods,
  manifest as manifestReport,
  sourceNames,
} from '@kubus/contracts';
import { type ConfigState, emptyConfig, merge } from '@kubus/pod-config';
import { readManifest } from '@kubus/pod-manifest';
import { deletedPod, resizedPod, storedPod, wholeSeconds, withEphemeralContainer, withStatus } from './api-pod.ts';
import { HarnessError } from './errors.ts';
import { type ServicePlace, takePlace } from './service-place.ts';
import type { TestNode } from './test-node.ts';

/**
 * The pods of an API server, told to a node in the place of its config-sources: under its identity, with its slot, by its
 * contract. As an API server with its node's help does, it keeps each pod's status, and lets go of a pod that is being
 * deleted when the node has ended it. The node has to be started with `elsewhere: ['config-sources']`.
 */
export class ApiSource {
  readonly #node: TestNode;
  readonly #place: ServicePlace;
  readonly #owners: Readonly<Record<SourceName, FactOwner<PodUpdate>>>;
  readonly #pods = new Map<string, Pod>();
  readonly #unfollow: () => void;
  #merged: ConfigState;

  /** Joins the bus of a node, with no pods yet. */
  static async open(node: TestNode): Promise<ApiSource> {
    const place = await takePlace(node, 'config-sources');
    const source = new ApiSource(node, place);
    place.announce();
    return source;
  }

  private constructor(node: TestNode, place: ServicePlace) {
    const { bus } = place;
    this.#node = node;
    this.#place = place;
    this.#merged = emptyConfig(['file', 'api']);
    this.#owners = {
      file: bus.owner(desiredPods.file),
      http: bus.owner(desiredPods.http),
      api: bus.owner(desiredPods.api),
    };
    bus.owner(configuredSources).put('sources', { sources: ['file', 'api'] });
    bus.owner(manifestReport).complete();
    // Its pods need no Node object.
    bus.reader(clusterNode);
    for (const source of sourceNames) this.#owners[source].complete();
    this.#unfollow = node.watch.follow(() => this.#hear());
  }

  /** The pods that are stored now. */
  get pods(): Pod[] {
    return [...this.#pods.values()];
  }

  /** Stores a pod of a manifest, bound to the node, in that namespace. */
  create(manifest: string, namespace = 'default'): Pod {
    const now = Date.now();
    const pod = storedPod(manifest, {
      namespace,
      node: this.#node.name,
      uid: randomUUID(),
      createdAt: wholeSeconds(now),
    });
    // The node's own mark on what it hears of.
    const annotations = { ...pod.metadata.annotations, [CONFIG_SEEN]: new Date(now).toISOString() };
    return this.#store({ ...pod, metadata: { ...pod.metadata, annotations } });
  }

  /**
   * Deletes a pod as a user's request does, and resolves when it is gone: at once without a grace period, else when the
   * node has ended it. Finalizers are taken to be served by then, too.
   *
   * @param graceSeconds left out: that of the pod.
   */
  async delete(uid: string, graceSeconds?: number): Promise<void> {
    const deleted = deletedPod(this.#get(uid), graceSeconds, Date.now());
    if (deleted === undefined) this.#remove(uid);
    else this.#store(deleted);
    this.#hear();
    await this.#node.watch.until(`pod ${uid} is deleted`, () => (this.#pods.has(uid) ? undefined : true));
  }

  /** Adds an ephemeral container to a pod, as `kubectl debug` does. */
  addEphemeralContainer(uid: string, container: EphemeralContainer): Pod {
    return this.#store(withEphemeralContainer(this.#get(uid), container));
  }

  /** Asks for other resources of a running container. */
  resize(uid: string, container: string, resources: ResourceRequirements): Pod {
    return this.#store(resizedPod(this.#get(uid), container, resources));
  }

  /**
   * Takes a manifest's pods as the whole set of the source `file`, beside the pods of the API.
   *
   * @returns the pods with the names and UIDs that they get on the node.
   */
  setStatic(manifest: string): readonly Pod[] {
    const { pods } = readManifest({
      text: manifest,
      source: 'file',
      path: this.#node.manifests,
      node: this.#node.name,
      seenAt: new Date().toISOString(),
    });
    this.#tell('file', pods);
    return pods;
  }

  /** Leaves the bus. The node keeps the pods that it has. */
  async close(): Promise<void> {
    this.#unfollow();
    await this.#place.leave();
  }

  /** Takes in what the node has told of the pods. */
  #hear(): void {
    for (const [uid, pod] of this.#pods) {
      const told = this.#node.watch.pod(uid);
      const deleting = pod.metadata.deletionTimestamp !== undefined;
      if (deleting && told?.worker?.state === 'terminated') this.#remove(uid);
      else if (told?.status !== undefined && told.status !== pod.status) this.#store(withStatus(pod, told.status));
    }
  }

  #get(uid: string): Pod {
    const pod = this.#pods.get(uid);
    if (pod === undefined) throw new HarnessError('NoSuchPod', `no pod ${uid} is stored`);
    return pod;
  }

  #store(pod: Pod): Pod {
    this.#pods.set(pod.metadata.uid, pod);
    this.#tell('api', this.pods);
    return pod;
  }

  #remove(uid: string): void {
    this.#pods.delete(uid);
    this.#tell('api', this.pods);
  }

  #tell(source: SourceName, pods: readonly Pod[]): void {
    const { state, updates } = merge(this.#merged, { source, pods, complete: true });
    this.#merged = state;
    for (const update of updates) {
      const { uid } = update.pod.metadata;
      if (update.operation === 'REMOVE') this.#owners[source].remove(uid, { pod: uid });
      else this.#owners[source].put(uid, update, { pod: uid });
    }
  }
}
