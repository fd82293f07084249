import { Bus, type FactOwner } from '@kubus/bus';
import { announceServer } from '@kubus/bus/testing';
import { NatsTransport } from '@kubus/bus-nats';
import { TestNatsServer } from '@kubus/bus-nats/testing';
import {
  type ClaimUse,
  type ClusterNode,
  type DeviceAllocation,
  type DeviceResource,
  type Pod,
  type PodStatus,
  type PodStatusReport,
  type PodUpdate,
  type PodWork,
  type RuntimeContainer,
  type RuntimePod,
  type SealedText,
  type ServiceName,
  type NodeTopology,
  type SourceName,
  type StreamEvent,
  claimUse,
  clusterNode,
  criCommands,
  deviceAllocation,
  deviceResource,
  desiredPods,
  nodeLogLevel,
  nodeTopology,
  podRefOf,
  podSchema,
  podStatus,
  podWork,
  runtimePod,
  serviceContracts,
  serviceNames,
  serviceShare,
  stuckService,
  streamSchema,
} from '@kubus/contracts';
import { freePort } from '@kubus/launcher';
import { KubusError, silentLogger } from '@kubus/ports';
import { Conditions } from '@kubus/ports/testing';
import { Metrics, type NodeConfig, SealKey, nodeConfigSchema, systemClock, systemIds } from '@kubus/service-kit';
import type { NatsConnection } from '@nats-io/nats-core';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { type Server, createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { NodeApi, type ServerConfig } from '../src/index.ts';

export const NODE = 'node0';

type StreamMethod = 'Exec' | 'Attach' | 'PortForward' | 'CheckpointContainer';

/** Allows every user everything. */
export const open = {
  authentication: { webhook: false, webhookCacheMs: 0, anonymous: true },
  authorization: { mode: 'AlwaysAllow', allowedCacheMs: 0, deniedCacheMs: 0 },
} as const satisfies Partial<ServerConfig>;

const identities = serviceNames.map((service) => ({ service, instance: `${service}-0` }));

/** A pod of that name, whose UID is `uid-<name>`, with the containers `main` and `side`. */
export function podNamed(name: string, annotations: Record<string, string> = {}): Pod {
  return podSchema.parse({
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name, namespace: 'default', uid: `uid-${name}`, annotations },
    spec: { nodeName: NODE, containers: [{ name: 'main' }, { name: 'side' }] },
  });
}

/** A run of a container as the runtime reports it. */
export function runOf(id: string, logPath: string, state: RuntimeContainer['state'] = 'running'): RuntimeContainer {
  return {
    ...{ id, name: 'main', attempt: 0, sandboxId: 'sandbox', state, createdAt: '1', startedAt: '1', finishedAt: '0' },
    ...{ exitCode: 0, reason: '', message: '', image: 'busybox', imageRef: 'busybox', imageId: 'sha256:abc' },
    ...{ logPath, annotations: {} },
  };
}

/**
 * The services around node-api, on a NATS server that belongs to the test; they publish and answer as the test wants.
 */
export class ApiNode {
  /** A folder of the test. */
  readonly folder: string;
  readonly events: StreamEvent[] = [];
  readonly #nats = new TestNatsServer();
  readonly #connections: NatsConnection[] = [];
  readonly #conditions = new Conditions();
  readonly #pods = new Map<SourceName, FactOwner<PodUpdate>>();
  #statuses: FactOwner<PodStatusReport> | undefined;
  #nodes: FactOwner<ClusterNode> | undefined;
  #resources: FactOwner<DeviceResource> | undefined;
  #allocations: FactOwner<DeviceAllocation> | undefined;
  #claims: FactOwner<ClaimUse> | undefined;
  #topologies: FactOwner<NodeTopology> | undefined;
  #works: FactOwner<PodWork> | undefined;
  #runtime: FactOwner<RuntimePod> | undefined;
  #syncLoop: Server | undefined;
  #api: NodeApi | undefined;
  /** Grows with each start of a service. */
  #epoch = 0;
  /** The streams that the runtime was asked to prepare. */
  readonly asked: [StreamMethod, unknown][] = [];
  /** The URL in the runtime's answer; undefined: it answers that the container is unknown. */
  streamingUrl: string | undefined;
  /** The runtime's answer to a call that is not a stream. */
  response: () => object = () => ({});
  /** The status with which sync-loop answers a health check. */
  syncLoopStatus = 200;
  /** The text with which sync-loop answers everything. */
  syncLoopText = '';

  /** The log levels that were published, in order. */
  readonly verbosities: number[] = [];

  private constructor(folder: string) {
    this.folder = folder;
  }

  static async make(): Promise<ApiNode> {
    const node = new ApiNode(await mkdtemp(join(tmpdir(), 'kubus-node-api-')));
    await node.#nats.start(NODE, serviceContracts, identities);
    await node.#nats.makeStreams();
    const sources = await node.#join('config-sources');
    for (const name of ['file', 'http', 'api'] as const) node.#pods.set(name, sources.owner(desiredPods[name]));
    node.#statuses = (await node.#join('pod-workers')).owner(podStatus);
    const bridge = await node.#join('cri-bridge');
    node.#runtime = bridge.owner(runtimePod);
    const bridgeKey = new SealKey();
    const answer =
      (method: StreamMethod) =>
      ({ request }: { request: { params: object; command?: SealedText | undefined; reader?: string | undefined } }) => {
        const { params, command, reader = '' } = request;
        const opened = command && { cmd: JSON.parse(bridgeKey.open(command)) as unknown };
        node.asked.push([method, { ...params, ...opened }]);
        const { streamingUrl: url } = node;
        if (url === undefined) throw new KubusError('NotFound', `${method}: not found`);
        const sealedUrl = new SealKey().seal(url, reader);
        return Promise.resolve({ response: { url: '' }, sealedUrl, at: { epoch: 1, counter: 1 } });
      };
    bridge.serve(criCommands.Exec, answer('Exec'));
    bridge.serve(criCommands.Attach, answer('Attach'));
    bridge.serve(criCommands.PortForward, answer('PortForward'));
    bridge.serve(criCommands.CheckpointContainer, (context) =>
      node.#call('CheckpointContainer', context.request.params),
    );
    await announceServer(bridge, 'cri-bridge', systemClock, bridgeKey.publicKey);
    const agent = await node.#join('node-agent');
    node.#nodes = agent.owner(clusterNode);
    node.#resources = agent.owner(deviceResource);
    node.#allocations = agent.owner(deviceAllocation);
    node.#claims = agent.owner(claimUse);
    node.#topologies = agent.owner(nodeTopology);
    const { verbosities } = node;
    agent.reader(nodeLogLevel, { changed: ({ value }) => verbosities.push(value.verbosity) });
    const people = await node.#connect('cli');
    people.subscribe(`kubus.${NODE}.node.event.stream.>`, {
      callback: (_error, message) => {
        node.events.push(streamSchema.parse(message.json()));
        node.#conditions.changed();
      },
    });
    await people.flush();
    return node;
  }

  /** Starts the API; a running one is stopped before. */
  async start(
    server: Partial<ServerConfig> = {},
    more: Partial<Pick<NodeConfig, 'apiServer' | 'nodeIps'>> = {},
  ): Promise<NodeApi> {
    await this.#api?.stop();
    const config = nodeConfigSchema.parse({
      ...{ node: NODE, nats: { url: this.#nats.url, identities: '' }, state: this.folder },
      ...{
        manifests: { path: this.folder },
        runtime: { socket: '' },
        pods: { root: join(this.folder, 'kubelet'), logs: this.folder },
      },
      network: { configDir: '', pluginDirs: [''], socket: '' },
      server: { certDir: join(this.folder, 'pki') },
      ...more,
    });
    const bus = await this.#join('node-api');
    const ports = { clock: systemClock, ids: systemIds, logger: silentLogger };
    const given = config.server;
    if (given === undefined) throw new Error('the configuration has no server');
    this.#api = await NodeApi.start(
      { config, bus, metrics: new Metrics({}), ...ports },
      // Port 0, any free port, is not allowed in a configuration.
      { ...given, address: '127.0.0.1', port: 0, healthz: { address: '127.0.0.1', port: await freePort() }, ...server },
    );
    // Fails when the contract lists something that the service does not do.
    bus.announce({ version: '0', pid: 1, startedAt: '2030-01-01T00:00:00Z' });
    return this.#api;
  }

  /** The current log level of processes. */
  get verbosity(): number | undefined {
    return this.verbosities.at(-1);
  }

  get api(): NodeApi {
    if (this.#api === undefined) throw new Error('the API has not been started');
    return this.#api;
  }

  want(source: SourceName, pod: Pod): void {
    this.#pods.get(source)?.put(pod.metadata.uid, { operation: 'ADD', source, pod }, { pod: pod.metadata.uid });
  }

  /** Publishes the Node object with these addresses. */
  publishNode(addresses: ClusterNode['addresses']): void {
    this.#nodes?.put(NODE, {
      ...{ name: NODE, uid: 'uid', resourceVersion: '1', labels: {}, annotations: {}, taints: [], podCIDRs: [] },
      ...{ unschedulable: false, deleting: false, capacity: {}, allocatable: {}, addresses },
      ...{ volumesInUse: [], volumesAttached: [] },
    });
  }

  /** Publishes the devices of a plugin. */
  hasDevices(resource: DeviceResource): void {
    this.#resources?.put(resource.resource, resource);
  }

  /** Publishes the devices that a pod's containers were allocated. */
  given(allocation: DeviceAllocation): void {
    this.#allocations?.put(allocation.ref.uid, allocation, { pod: allocation.ref.uid });
  }

  /** Publishes the machine and who has what of it. */
  hasMachine(topology: NodeTopology): void {
    this.#topologies?.put(NODE, topology);
  }

  /** A pod uses resource claims. */
  claimed(pod: Pod, claims: ClaimUse['claims']): void {
    this.#claims?.put(pod.metadata.uid, { claims }, { pod: pod.metadata.uid });
  }

  status(pod: Pod, status: PodStatus): void {
    this.#statuses?.put(pod.metadata.uid, { ref: podRefOf(pod), status }, { pod: pod.metadata.uid });
  }

  /** Publishes the pod state; omitted: the runtime no longer has the pod. */
  runs(pod: Pod, containers?: readonly RuntimeContainer[]): void {
    const ref = podRefOf(pod);
    if (containers === undefined) {
      this.#runtime?.remove(ref.uid, { pod: ref.uid });
      return;
    }
    const sandbox = { id: 'sandbox', attempt: 0, ready: true, createdAt: '1', ips: [], runtimeHandler: '' };
    const read = { ref, stamp: { epoch: 1, counter: 1 }, sandboxes: [sandbox], containers: [...containers] };
    this.#runtime?.put(ref.uid, read, { pod: ref.uid });
  }

  /** Starts sync-loop, which publishes all its pods; its health is requested by HTTP. */
  async startSyncLoop(): Promise<void> {
    const contract = { ...serviceContracts['sync-loop'], owns: [podWork], reads: [], serves: [] };
    const bus = await this.#join('sync-loop', contract);
    this.#works = bus.owner(podWork);
    this.#syncLoop = createServer((_request, response) =>
      response.writeHead(this.syncLoopStatus).end(this.syncLoopText),
    );
    this.#syncLoop.listen(0, '127.0.0.1');
    await once(this.#syncLoop, 'listening');
    const { port } = this.#syncLoop.address() as AddressInfo;
    bus.announce({ version: '0', pid: 1, startedAt: '2030-01-01T00:00:00Z', http: `127.0.0.1:${port}` });
    this.#works.complete();
  }

  /** sync-loop crashes and does not answer any more. */
  async killSyncLoop(): Promise<void> {
    const server = this.#syncLoop;
    this.#syncLoop = undefined;
    if (server === undefined) return;
    const closed = once(server, 'close');
    server.close();
    server.closeAllConnections();
    await closed;
  }

  /** An instance of the prober that has ended: its facts remain, and nothing answers at its address. */
  async hadProber(): Promise<void> {
    const bus = await this.#join('prober', { ...serviceContracts.prober, owns: [], reads: [], serves: [], hears: [] });
    bus.announce({ version: '0', pid: 1, startedAt: '2030-01-01T00:00:00Z', http: '127.0.0.1:1' });
  }

  /** Publishes which instances of the prober exist, and that one was stuck, as the launcher does. */
  async probers(...instances: string[]): Promise<void> {
    const launcher = await this.#join('launcher');
    launcher.owner(serviceShare).put('prober', { instances, term: 1 });
    launcher.owner(stuckService).put('prober-0', { count: 2, at: '2030-01-01T00:00:00Z', reason: 'no answer' });
  }

  killNats(): Promise<void> {
    return this.#nats.kill();
  }

  /** Resolves when the condition holds; it is checked after each stream event. */
  untilEvents(condition: () => boolean): Promise<void> {
    return this.#conditions.until(condition);
  }

  async remove(): Promise<void> {
    await this.#api?.stop();
    await this.killSyncLoop();
    for (const connection of this.#connections) await connection.close();
    await this.#nats.stop();
    await rm(this.folder, { recursive: true, force: true });
  }

  #call(method: StreamMethod, params: unknown): Promise<{ response: object; at: { epoch: number; counter: number } }> {
    this.asked.push([method, params]);
    return Promise.resolve({ response: this.response(), at: { epoch: 1, counter: 1 } });
  }

  async #connect(service: ServiceName): Promise<NatsConnection> {
    const connection = await this.#nats.connect(`${service}-0`);
    this.#connections.push(connection);
    return connection;
  }

  async #join(service: ServiceName, contract = serviceContracts[service]): Promise<Bus> {
    const connection = await this.#connect(service);
    const instance = `${service}-0`;
    const ports = { clock: systemClock, ids: systemIds, logger: silentLogger };
    const transport = new NatsTransport({ connection, node: NODE, instance, ...ports });
    this.#epoch += 1;
    return new Bus({ node: NODE, service, instance, epoch: this.#epoch, contract, transport, ...ports });
  }
}
