import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Bus, type FactOwner, type FactReader } from '@kubus/bus';
import { NatsTransport } from '@kubus/bus-nats';
import { TestNatsServer } from '@kubus/bus-nats/testing';
import {
  type CachedObject,
  type ClusterNode,
  type CsiDriver,
  type NamespaceServices,
  type ObjectReference,
  type Pod,
  type PodWork,
  type RuntimeClass,
  type ServiceName,
  type TrustBundle,
  type VolumeAttachment,
  type VolumeClaim,
  cachedObject,
  claimKey,
  clusterNode,
  csiDriver,
  namespaceServices,
  objectKey,
  podWork,
  runtimeClass,
  serviceContracts,
  trustBundle,
  volumeAttachment,
  volumeClaim,
} from '@kubus/contracts';
import { KubeClient } from '@kubus/kube';
import { type LoggedRequest, TestApiServer, type TestApiServerOptions, nodeUser } from '@kubus/kube-fixture';
import { ObjectClient } from '@kubus/object-socket';
import { type LogFields, type Logger, silentLogger } from '@kubus/ports';
import { systemClock, systemIds } from '@kubus/service-kit';
import type { NatsConnection } from '@nats-io/nats-core';
import { ObjectCache } from '../src/index.ts';
import { TestClock } from './test-clock.ts';

const NODE = 'n';
const members: readonly ServiceName[] = [
  'launcher',
  'object-cache',
  'sync-loop',
  'pod-workers',
  'volume-manager',
  'node-agent',
];

/** An object-cache between an API server and the bus of a node; the test acts as sync-loop and pod-workers. */
export class TestNode {
  readonly clock = new TestClock();
  readonly client: ObjectClient;
  readonly api: TestApiServer;
  readonly socket: string;
  /** Every logged line, as JSON. */
  readonly logged: string[] = [];
  readonly #folder: string;
  readonly #nats = new TestNatsServer();
  readonly #open: NatsConnection[] = [];
  #pods!: FactOwner<PodWork>;
  #objects!: FactReader<CachedObject>;
  #services!: FactReader<NamespaceServices>;
  #classes!: FactReader<RuntimeClass>;
  #bundles!: FactReader<TrustBundle>;
  #claims!: FactReader<VolumeClaim>;
  #drivers!: FactReader<CsiDriver>;
  #attachments!: FactReader<VolumeAttachment>;
  #nodes!: FactOwner<ClusterNode>;
  #running: (() => Promise<void>) | undefined;
  #epoch = 0;
  #markers = 0;
  #look: () => void = () => undefined;

  static async start(options: TestApiServerOptions = {}): Promise<TestNode> {
    const folder = await mkdtemp(join(tmpdir(), 'kubus-cache-'));
    const node = new TestNode(folder, await TestApiServer.start(options));
    await node.#wire();
    return node;
  }

  private constructor(folder: string, api: TestApiServer) {
    this.#folder = folder;
    this.api = api;
    this.socket = join(folder, 'sockets', 'objects.sock');
    this.client = new ObjectClient(this.socket);
  }

  async #wire(): Promise<void> {
    const identities = members.map((service) => ({ service, instance: `${service}-0` }));
    await this.#nats.start(NODE, serviceContracts, identities);
    await this.#nats.makeStreams();
    const look = () => this.#look();
    const onFact = { changed: look, removed: look, complete: look };
    const workers = await this.#join('pod-workers');
    this.#objects = workers.reader(cachedObject, onFact);
    this.#services = workers.reader(namespaceServices, onFact);
    this.#classes = workers.reader(runtimeClass, onFact);
    const volumes = await this.#join('volume-manager');
    this.#bundles = volumes.reader(trustBundle, onFact);
    this.#claims = volumes.reader(volumeClaim, onFact);
    this.#drivers = volumes.reader(csiDriver, onFact);
    this.#attachments = volumes.reader(volumeAttachment, onFact);
    this.#nodes = (await this.#join('node-agent')).owner(clusterNode);
    this.#pods = (await this.#join('sync-loop')).owner(podWork);
    this.#pods.complete();
  }

  /** Starts the cache, or its next process. */
  async run(): Promise<ObjectCache> {
    this.#epoch += 1;
    const bus = await this.#join('object-cache', this.#epoch);
    const connection = this.#open.pop();
    const kubeconfig = await this.api.kubeconfig(nodeUser(NODE));
    const ports = { clock: this.clock, logger: this.#logger() };
    const client = await KubeClient.open({ kubeconfig, userAgent: 'test', ...ports });
    const ids = { ...systemIds, fraction: () => 0 };
    const cache = await ObjectCache.start({ bus, client, ids, socket: this.socket, ...ports });
    this.#running = async () => {
      await cache.stop();
      await client.close();
      await connection?.close();
    };
    return cache;
  }

  /** Stops the cache. Its facts stay. */
  async halt(): Promise<void> {
    await this.#running?.();
    this.#running = undefined;
  }

  async stop(): Promise<void> {
    await this.halt();
    for (const connection of this.#open) await connection.close();
    await this.#nats.stop();
    await this.api.close();
    await rm(this.#folder, { recursive: true });
  }

  /** Publishes the work of a pod. */
  work(pod: Pod, change: Partial<PodWork> = {}): void {
    const { uid, name, namespace } = pod.metadata;
    this.#pods.put(
      uid,
      {
        ref: { uid, name, namespace },
        pod,
        source: 'api',
        work: 'sync',
        reason: 'test',
        worker: 'pod-workers-0',
        firstSeen: '2030-01-01T00:00:00Z',
        ...change,
      },
      { pod: uid },
    );
  }

  /** Removes the work of a pod. */
  forget(uid: string): void {
    this.#pods.remove(uid, { pod: uid });
  }

  /** Waits until the cache has received all work published so far. */
  async untilReceived(): Promise<void> {
    const name = `marker-${++this.#markers}`;
    this.work(podOf(name, usingAll({ kind: 'ConfigMap', name })));
    await this.until(() => this.object({ kind: 'ConfigMap', namespace: 'default', name }));
    this.forget(name);
  }

  object(reference: ObjectReference): CachedObject | undefined {
    return this.#objects.get(objectKey(reference))?.value;
  }

  /** All published objects with their states. */
  get objects(): string[] {
    return [...this.#objects].map(({ key, value }) => `${key} ${value.state}`).sort();
  }

  /** The names of the published services, by namespace. */
  get services(): Record<string, string[]> {
    const entries = [...this.#services].map(
      ({ key, value }) => [key, value.services.map(({ name }) => name).sort()] as const,
    );
    return Object.fromEntries(entries);
  }

  get classes(): RuntimeClass[] {
    return [...this.#classes].map(({ value }) => value);
  }

  get bundles(): TrustBundle[] {
    return [...this.#bundles].map(({ value }) => value);
  }

  /** Publishes a Node that lists these volumes as attached. */
  attached(...volumesAttached: string[]): void {
    this.#nodes.put(NODE, {
      ...{ name: NODE, uid: 'n', resourceVersion: '1', labels: {}, annotations: {}, taints: [], unschedulable: false },
      ...{ podCIDRs: [], addresses: [], capacity: {}, allocatable: {}, deleting: false },
      ...{ volumesInUse: volumesAttached, volumesAttached },
    });
    this.#nodes.complete();
  }

  /** A claim of the namespace `default`. */
  claim(name: string): VolumeClaim | undefined {
    return this.#claims.get(claimKey({ namespace: 'default', name }))?.value;
  }

  /** All published claims with their states. */
  get claims(): string[] {
    return [...this.#claims].map(({ key, value }) => `${key} ${value.state}`).sort();
  }

  get drivers(): CsiDriver[] {
    return [...this.#drivers].map(({ value }) => value);
  }

  get attachments(): VolumeAttachment[] {
    return [...this.#attachments].map(({ value }) => value);
  }

  /** The volume-related sets that this process of the cache has completed. */
  get storageComplete(): { claims: boolean; drivers: boolean; attachments: boolean } {
    const is = (reader: FactReader<unknown>) => reader.completed('object-cache-0') === this.#epoch;
    return { claims: is(this.#claims), drivers: is(this.#drivers), attachments: is(this.#attachments) };
  }

  /** The sets that this process of the cache has completed. */
  get complete(): Record<'objects' | 'services' | 'classes' | 'bundles', boolean> {
    const is = (reader: FactReader<unknown>) => reader.completed('object-cache-0') === this.#epoch;
    return {
      objects: is(this.#objects),
      services: is(this.#services),
      classes: is(this.#classes),
      bundles: is(this.#bundles),
    };
  }

  /** Requests of that kind so far, without those that are not the node's. */
  requests(verb: LoggedRequest['verb'], plural: string): readonly LoggedRequest[] {
    return this.api.requests.filter((one) => one.verb === verb && one.plural === plural);
  }

  /** The objects that are watched now. */
  get watched(): string[] {
    return this.api.requests
      .filter(
        ({ verb, query, durationMs }) => verb === 'watch' && query.has('fieldSelector') && durationMs === undefined,
      )
      .map(({ plural, namespace, query }) => `${plural}/${namespace}/${query.get('fieldSelector') ?? ''}`)
      .sort();
  }

  /** Waits until exactly these objects are watched. */
  async watches(...objects: string[]): Promise<void> {
    await this.api.waitForRequest(() => this.watched.join() === objects.join());
  }

  /** Waits until a fact fulfils the condition. */
  async until<T>(look: () => T | undefined | false): Promise<T> {
    for (;;) {
      const found = look();
      if (found !== undefined && found !== false) return found;
      await new Promise<void>((resolve) => (this.#look = resolve));
    }
  }

  #logger(): Logger {
    const log = (fields: LogFields, message: string) => void this.logged.push(JSON.stringify([fields, message]));
    return { ...silentLogger, debug: log, info: log, warn: log, error: log };
  }

  async #connect(service: ServiceName): Promise<NatsConnection> {
    const made = await this.#nats.connect(`${service}-0`);
    this.#open.push(made);
    return made;
  }

  async #join(service: ServiceName, epoch = 1): Promise<Bus> {
    const instance = `${service}-0`;
    const ports = { clock: systemClock, ids: systemIds, logger: silentLogger };
    const transport = new NatsTransport({
      connection: await this.#connect(service),
      node: NODE,
      instance,
      ...ports,
    });
    const contract = serviceContracts[service];
    return new Bus({ node: NODE, service, instance, epoch, contract, transport, ...ports });
  }
}

/** A pod of the API server; its UID is its name. */
export function podOf(name: string, spec: object = {}, namespace = 'default'): Pod {
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name, namespace, uid: name },
    spec: { containers: [{ name: 'main' }], ...spec },
  };
}

/** The spec of a pod with all keys of these objects as variables. */
export function usingAll(...references: readonly Pick<ObjectReference, 'kind' | 'name'>[]): object {
  const envFrom = references.map(({ kind, name }) =>
    kind === 'Secret' ? { secretRef: { name } } : { configMapRef: { name } },
  );
  return { containers: [{ name: 'main', envFrom }] };
}
