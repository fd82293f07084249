import { type LocalMember, LocalBroker } from '@kubus/bus/testing';
import type { FactOwner, FactReader } from '@kubus/bus';
import {
  type ClusterNode,
  type MirrorPod,
  type Pod,
  type PodRef,
  type PodStatus,
  type PodStatusReport,
  type PodUpdate,
  type PodWork,
  type PodWorkerReport,
  type StatusWrite,
  clusterNode,
  configuredSources,
  desiredPods,
  mirrorPod,
  podRefOf,
  podSchema,
  podStatus,
  podWork,
  podWorker,
  statusWrite,
} from '@kubus/contracts';
import { KubeClient, Reflector, kubePath } from '@kubus/kube';
import { type JsonObject, type LoggedRequest, TestApiServer, nodeUser } from '@kubus/kube-fixture';
import { type Clock, silentLogger } from '@kubus/ports';
import { Conditions } from '@kubus/ports/testing';
import { systemIds } from '@kubus/service-kit';
import { StatusManager } from '../src/index.ts';

const NODE = 'n1';
const START = '2030-01-01T00:00:00Z';

const machineClock: Clock = {
  now: () => Date.now(),
  after: (ms, action) => {
    // Pending timers do not keep the test's process alive.
    const timer = setTimeout(action, ms).unref();
    return () => clearTimeout(timer);
  },
};

/** The manager's clock runs so many times as fast as the API server's, so that its delays are short here. */
const FASTER = 20;
const started = Date.now();
export const fastClock: Clock = {
  now: () => started + (Date.now() - started) * FASTER,
  after: (ms, action) => machineClock.after(ms / FASTER, action),
};

/**
 * A node on which the test plays all services and the cluster but the API server, whose watch reports its pods as on a
 * real node.
 */
export class ScriptedNode {
  readonly server: TestApiServer;
  readonly broker = new LocalBroker(NODE);
  readonly client: KubeClient;
  /** Of the Node object. */
  readonly nodeUid: string;
  readonly #reflector: Reflector<Pod>;
  readonly #static: FactOwner<PodUpdate>;
  readonly #sources: FactOwner<{ sources: ('file' | 'http' | 'api')[] }>;
  readonly #works: FactOwner<PodWork>;
  readonly #workers: FactOwner<PodWorkerReport>;
  readonly #statuses: FactOwner<PodStatusReport>;
  readonly #nodes: FactOwner<ClusterNode>;
  readonly #writeState: FactReader<StatusWrite>;
  readonly #mirrors: FactReader<MirrorPod>;
  readonly #received: FactReader<PodUpdate>;
  readonly #conditions = new Conditions();
  #life: { member: LocalMember; manager: StatusManager } | undefined;
  #epoch = 0;

  static async start(): Promise<ScriptedNode> {
    const server = await TestApiServer.start();
    const kubeconfig = await server.kubeconfig(nodeUser(NODE));
    const options = { kubeconfig, userAgent: 'test', clock: machineClock, logger: silentLogger };
    const node = new ScriptedNode(server, await KubeClient.open(options));
    node.run();
    return node;
  }

  private constructor(server: TestApiServer, client: KubeClient) {
    this.server = server;
    this.client = client;
    // The server lets a node make only mirror pods that its Node object owns.
    this.nodeUid = server.create({ apiVersion: 'v1', kind: 'Node', metadata: { name: NODE } }).metadata.uid;
    const sources = this.broker.join('config-sources', machineClock).bus;
    this.#static = sources.owner(desiredPods.file);
    this.#sources = sources.owner(configuredSources);
    this.sources(['file', 'api']);
    this.#works = this.broker.join('sync-loop', machineClock).bus.owner(podWork);
    const workers = this.broker.join('pod-workers', machineClock).bus;
    this.#workers = workers.owner(podWorker);
    this.#statuses = workers.owner(podStatus);
    this.#nodes = this.broker.join('node-agent', machineClock).bus.owner(clusterNode);
    const look = () => this.#conditions.changed();
    const cli = this.broker.join('cli', machineClock).bus;
    this.#writeState = cli.reader(statusWrite, { changed: look, removed: look });
    this.#mirrors = cli.reader(mirrorPod, { changed: look, removed: look });
    this.#received = cli.reader(desiredPods.api, { changed: look, removed: look });
    this.#reflector = this.#reflect(sources.owner(desiredPods.api));
    this.#reflector.start();
    this.#static.complete();
    this.#works.complete();
  }

  /** The node has these sources; the set of `http` is never complete. */
  sources(names: ('file' | 'http' | 'api')[]): void {
    this.#sources.put('node', { sources: names });
  }

  /** Starts the next process of the service. */
  run(): void {
    const member = this.broker.join('status-manager', fastClock, ++this.#epoch);
    const manager = new StatusManager({
      ...{ bus: member.bus, clock: fastClock, ids: systemIds, logger: silentLogger, client: this.client },
      // In the manager's seconds, which are short.
      rate: { qps: 50, burst: 100 },
    });
    this.#life = { member, manager };
  }

  /** Ends the service abruptly. */
  async kill(): Promise<void> {
    this.#life?.member.leave();
    await this.#life?.manager.stop();
    this.#life = undefined;
  }

  async close(): Promise<void> {
    this.#reflector.stop();
    await this.kill();
    await this.client.close();
    await this.server.close();
  }

  /** Creates a pod that is bound to the node, and publishes its work. */
  create(name: string, change: { metadata?: JsonObject; spec?: JsonObject } = {}): PodRef {
    const spec = { nodeName: NODE, containers: [{ name: 'c', image: 'i' }], ...change.spec };
    const metadata = { name, ...change.metadata };
    const made = this.server.create({ apiVersion: 'v1', kind: 'Pod', metadata, spec });
    return podRefOf(podSchema.parse(made));
  }

  /** Publishes the pod's status on the node. */
  status(ref: PodRef, status: PodStatus): void {
    this.#statuses.put(ref.uid, { ref, status: { startTime: START, ...status } }, { pod: ref.uid });
  }

  /** Publishes the state of the pod's worker; undefined: removes it. */
  worker(ref: PodRef, worker: Pick<PodWorkerReport, 'state' | 'cleaned'> | undefined): void {
    if (worker === undefined) {
      this.#workers.remove(ref.uid, { pod: ref.uid });
      this.#statuses.remove(ref.uid, { pod: ref.uid });
      this.#works.remove(ref.uid, { pod: ref.uid });
    } else {
      this.#workers.put(ref.uid, { ref, since: START, ...worker }, { pod: ref.uid });
    }
  }

  work(ref: PodRef, work: PodWork['work'], source: PodWork['source'] = 'file'): void {
    const value: PodWork = { ref, source, work, reason: 'test', worker: 'pod-workers-0', firstSeen: START };
    this.#works.put(ref.uid, value, { pod: ref.uid });
  }

  /** Publishes a static pod; undefined: removes it. */
  manifest(uid: string, name: string | undefined, namespace = 'default'): PodRef {
    const ref = { uid, name: name ?? '', namespace };
    if (name === undefined) {
      this.#static.remove(uid, { pod: uid });
      return ref;
    }
    const annotations = { 'kubernetes.io/config.hash': uid, 'kubernetes.io/config.source': 'file' };
    const spec = { nodeName: NODE, containers: [{ name: 'c', image: 'i' }] };
    const pod: Pod = { apiVersion: 'v1', kind: 'Pod', metadata: { ...ref, annotations }, spec };
    this.#static.put(uid, { operation: 'ADD', source: 'file', pod }, { pod: uid });
    return ref;
  }

  nodeObject(change: Partial<ClusterNode> | undefined): void {
    if (change === undefined) {
      this.#nodes.remove(NODE);
      return;
    }
    const value = {
      ...{
        name: NODE,
        uid: this.nodeUid,
        resourceVersion: '1',
        labels: {},
        annotations: {},
        taints: [],
        deleting: false,
      },
      ...{ unschedulable: false, podCIDRs: [], addresses: [], capacity: {}, allocatable: {} },
      ...{ volumesInUse: [], volumesAttached: [] },
    };
    this.#nodes.put(NODE, { ...value, ...change });
  }

  /** The published write state of the pod with that UID. */
  writeState(uid: string): StatusWrite | undefined {
    return this.#writeState.get(uid)?.value;
  }

  mirror(uid: string): string | undefined {
    return this.#mirrors.get(uid)?.value.mirrorUid;
  }

  /** The status that the API server has. */
  stored({ namespace, name }: Pick<PodRef, 'name' | 'namespace'>): PodStatus | undefined {
    return podSchema.optional().parse(this.server.get({ kind: 'Pod', namespace, name }))?.status;
  }

  /** The service's requests to the API server since `from`. */
  writes(from = 0): readonly LoggedRequest[] {
    return this.server.requests.slice(from).filter(({ verb }) => verb !== 'list' && verb !== 'watch');
  }

  /** Resolves when `condition` holds; it is checked after each of the service's facts. */
  until(condition: () => boolean): Promise<void> {
    return this.#conditions.until(condition);
  }

  /** Resolves when the watch has reported the pod as the API server has it. */
  untilReceived({ namespace, name, uid }: PodRef): Promise<void> {
    const { resourceVersion } = this.server.get({ kind: 'Pod', namespace, name })?.metadata ?? {};
    return this.until(() => this.#received.get(uid)?.value.pod.metadata.resourceVersion === resourceVersion);
  }

  untilWriteState(uid: string, state: StatusWrite['state'] | undefined): Promise<void> {
    return this.until(() => this.writeState(uid)?.state === state);
  }

  /** Publishes the pods of the API server as config-sources does. */
  #reflect(pods: FactOwner<PodUpdate>): Reflector<Pod> {
    const known = new Set<string>();
    const put = (pod: Pod) => {
      const { uid } = pod.metadata;
      known.add(uid);
      pods.put(uid, { operation: 'UPDATE', source: 'api', pod }, { pod: uid });
    };
    const remove = (uid: string) => {
      if (known.delete(uid)) pods.remove(uid, { pod: uid });
    };
    return new Reflector<Pod>({
      client: this.client,
      path: kubePath({ version: 'v1', resource: 'pods' }),
      query: { fieldSelector: `spec.nodeName=${NODE}` },
      parse: (object) => podSchema.parse(object),
      listener: {
        replaced: (objects) => {
          for (const uid of [...known]) if (!objects.some(({ metadata }) => metadata.uid === uid)) remove(uid);
          for (const pod of objects) put(pod);
          pods.complete();
        },
        changed: put,
        removed: ({ metadata: { uid } }) => remove(uid),
      },
      ...{ clock: fastClock, logger: silentLogger, random: () => 0 },
    });
  }
}

/** A write in the API server's log, as text. */
export function line({ verb, path, status }: LoggedRequest): string {
  const place = path.replace('/api/v1/namespaces/', '').replace('/pods', '');
  return `${verb} ${place} ${status ?? 'unanswered'}`;
}
