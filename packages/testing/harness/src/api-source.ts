import type { FactOwner } from '@kubus/bus';
import {
  CONFIG_SEEN,
  clusterNode,
  type EphemeralContainer,
  type Pod,
  type PodStatus,
  type PodUpdate,
  type ResourceRequirements,
  type SourceName,
  configuredSources,
  desiredPods,
  manifest as manifestReport,
  podSchema,
  sourceNames,
} from '@kubus/contracts';
import { ApiObjects, type JsonObject, type KubeObject } from '@kubus/kube-fixture';
import { type ConfigState, emptyConfig, merge, readManifest } from '@kubus/pod-source';
import { isTerminal } from '@kubus/pod-status';
import { parse } from 'yaml';
import { HarnessError } from './errors.ts';
import { type ServicePlace, takePlace } from './service-place.ts';
import type { WatchedPod } from './node-watch.ts';
import type { TestNode } from './test-node.ts';

/**
 * Publishes the pods of an API server to a node, in place of its config-sources: under the same identity, slot and contract.
 * Like an API server it keeps each pod's status, and removes a pod that is being deleted once the node has ended it. The node
 * has to be started with `elsewhere: ['config-sources']`.
 */
export class ApiSource {
  readonly #node: TestNode;
  readonly #place: ServicePlace;
  readonly #owners: Readonly<Record<SourceName, FactOwner<PodUpdate>>>;
  readonly #objects = new ApiObjects();
  /** When the node first received a pod, by UID. */
  readonly #seen = new Map<string, string>();
  /** The status that was stored last, by UID: most of what the node says is about other pods. */
  readonly #statuses = new Map<string, PodStatus>();
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
    // The pods of this source wait for no Node object.
    bus.reader(clusterNode, {});
    for (const source of sourceNames) this.#owners[source].complete();
    const unfollowNode = node.watch.follow(() => this.#readNode());
    const unfollowObjects = this.#objects.registry.store.follow(() => this.#tell('api', this.pods));
    this.#unfollow = () => {
      unfollowNode();
      unfollowObjects();
    };
  }

  /** The pods that are stored now, with the node's annotation of what it has received. */
  get pods(): Pod[] {
    return this.#objects.list('Pod').map((object) => {
      const pod = podSchema.parse(object);
      const { uid, annotations } = pod.metadata;
      const seen = this.#seen.get(uid) ?? new Date().toISOString();
      this.#seen.set(uid, seen);
      return { ...pod, metadata: { ...pod.metadata, annotations: { ...annotations, [CONFIG_SEEN]: seen } } };
    });
  }

  /**
   * Stores a pod of a manifest, bound to the node, in that namespace. Creates the namespace and the RuntimeClass when they
   * are missing: an API server accepts no pod without them. The node reads them from the object cache.
   */
  create(manifest: string, namespace = 'default'): Pod {
    const { metadata, spec, ...rest } = parse(manifest) as KubeObject;
    this.#need({ apiVersion: 'v1', kind: 'Namespace' }, namespace);
    const runtimeClass = spec?.['runtimeClassName'];
    if (typeof runtimeClass === 'string') {
      this.#need({ apiVersion: 'node.k8s.io/v1', kind: 'RuntimeClass', handler: runtimeClass }, runtimeClass);
    }
    const object = { ...rest, metadata: { ...metadata, namespace }, spec: { ...spec, nodeName: this.#node.name } };
    return podSchema.parse(this.#objects.create(object));
  }

  /**
   * Deletes a pod as a user's request does, and resolves when it is deleted: at once without a grace period, else when the
   * node has ended it. Finalizers count as finished by then.
   *
   * @param graceSeconds default: the pod's own.
   */
  async delete(uid: string, graceSeconds?: number): Promise<void> {
    this.#objects.delete(this.#get(uid), graceSeconds === undefined ? {} : { graceSeconds });
    this.#readNode();
    await this.#node.watch.until(`pod ${uid} is deleted`, () => (this.#find(uid) === undefined ? true : undefined));
  }

  /** Adds an ephemeral container to a pod, as `kubectl debug` does. */
  addEphemeralContainer(uid: string, container: EphemeralContainer): Pod {
    const ephemeralContainers = [container as unknown as JsonObject];
    return this.#patch(uid, 'ephemeralcontainers', { ephemeralContainers });
  }

  /** Requests other resources for a running container. */
  resize(uid: string, container: string, resources: ResourceRequirements): Pod {
    const whole = { ...resources, $patch: 'replace' } as unknown as JsonObject;
    return this.#patch(uid, 'resize', { containers: [{ name: container, resources: whole }] });
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

  /** Stores what the node has published about the pods. */
  #readNode(): void {
    for (const object of this.#objects.list('Pod')) {
      const { uid, deletionTimestamp } = object.metadata;
      const seen = this.#node.watch.pod(uid);
      if (deletionTimestamp !== undefined && seen?.worker?.state === 'terminated') {
        this.#objects.patch(nameOf(object), { metadata: { finalizers: null } });
        this.#objects.delete(nameOf(object), { graceSeconds: 0 });
      } else if (seen?.status !== undefined && seen.status !== this.#statuses.get(uid) && !isEarly(seen)) {
        this.#statuses.set(uid, seen.status);
        this.#objects.update({ ...object, status: seen.status }, 'status');
      }
    }
  }

  #need(object: JsonObject & { kind: string }, name: string): void {
    if (this.#objects.get({ kind: object.kind, name }) !== undefined) return;
    this.#objects.create({ ...object, metadata: { name } });
  }

  #patch(uid: string, subresource: string, spec: JsonObject): Pod {
    return podSchema.parse(this.#objects.patch(this.#get(uid), { spec }, { kind: 'strategic-merge', subresource }));
  }

  #find(uid: string): KubeObject | undefined {
    return this.#objects.list('Pod').find(({ metadata }) => metadata.uid === uid);
  }

  #get(uid: string): PodName {
    const pod = this.#find(uid);
    if (pod === undefined) throw new HarnessError('NoSuchPod', `pod ${uid} is not stored`);
    return nameOf(pod);
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

type PodName = ReturnType<typeof nameOf>;

function nameOf({ metadata: { namespace = '', name } }: KubeObject) {
  return { kind: 'Pod', namespace, name };
}

/** A final phase is not passed on while containers may run, as by status-manager. */
function isEarly({ status, worker }: WatchedPod): boolean {
  return isTerminal(status?.phase) && worker?.state !== 'terminated' && worker?.state !== 'finished';
}
