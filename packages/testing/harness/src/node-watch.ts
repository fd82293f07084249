import type { FactReader, StoredMessage, Transport } from '@kubus/bus';
import { PEOPLE, connectNats, inboxPrefix, readRecord, readSeed } from '@kubus/bus-nats';
import {
  type FactDeclaration,
  type ImagePull,
  type ManifestReport,
  type NetworkCondition,
  type Pod,
  type PodRef,
  type PodStatus,
  type PodStatusReport,
  type PodUpdate,
  type PodWork,
  type PodWorkerReport,
  type RuntimeCondition,
  type RuntimePod,
  type ServiceInstance,
  desiredPods,
  imagePull,
  manifest,
  networkCondition,
  podRefOf,
  podStatus,
  podWork,
  podWorker,
  runtimeCondition,
  runtimePod,
  serviceInstance,
} from '@kubus/contracts';
import { type NodeDir, identitiesFolder, natsAccess, readSettings } from '@kubus/launcher';
import { Conditions } from '@kubus/ports/testing';
import { createLogger, joinBus, systemIds } from '@kubus/service-kit';
import type { NatsConnection } from '@nats-io/nats-core';
import { findWithin } from './find-within.ts';
import { NodeMessages } from './node-messages.ts';

/** A pod as published by its owners; fields that no service publishes are undefined. */
export interface WatchedPod {
  readonly ref: PodRef;
  /** The pod of its manifest. */
  readonly desired: Pod | undefined;
  readonly work: PodWork | undefined;
  readonly worker: PodWorkerReport | undefined;
  readonly status: PodStatus | undefined;
  readonly runtime: RuntimePod | undefined;
}

/** What a node publishes about itself on its bus; reconnects after every outage. */
export class NodeWatch {
  readonly messages: NodeMessages;
  readonly #node: string;
  readonly #connection: NatsConnection;
  readonly #transport: Transport;
  readonly #conditions = new Conditions();
  readonly #desired: FactReader<PodUpdate>;
  readonly #works: FactReader<PodWork>;
  readonly #workers: FactReader<PodWorkerReport>;
  readonly #statuses: FactReader<PodStatusReport>;
  readonly #runtimes: FactReader<RuntimePod>;
  readonly #manifests: FactReader<ManifestReport>;
  readonly #runtimeConditions: FactReader<RuntimeCondition>;
  readonly #networkConditions: FactReader<NetworkCondition>;
  readonly #imagePulls: FactReader<ImagePull>;
  readonly #instances: FactReader<ServiceInstance>;

  /** @param port TCP port of the loopback at which the node's NATS can be reached from here. */
  static async open(dir: NodeDir, port: number): Promise<NodeWatch> {
    const seed = await readSeed(identitiesFolder(dir), PEOPLE);
    const { url, tls } = natsAccess(dir, await readSettings(dir));
    const servers = url.replace(/\d+$/, String(port));
    return new NodeWatch(dir.node, await connectNats({ servers, tls, instance: PEOPLE, seed }));
  }

  private constructor(node: string, connection: NatsConnection) {
    this.#node = node;
    this.#connection = connection;
    const { bus, transport } = joinBus({
      connection,
      node,
      service: 'cli',
      identity: PEOPLE,
      instance: `cli-${process.pid}-${systemIds.hex(3)}`,
      epoch: 1,
      logger: createLogger({ service: 'test', instance: PEOPLE, level: 'error' }),
    });
    this.#transport = transport;
    const changed = () => this.#conditions.changed();
    const read = <T>(fact: FactDeclaration<T>) => bus.reader(fact, { changed, removed: changed, complete: changed });
    this.#desired = read(desiredPods.file);
    this.#works = read(podWork);
    this.#workers = read(podWorker);
    this.#statuses = read(podStatus);
    this.#runtimes = read(runtimePod);
    this.#manifests = read(manifest);
    this.#runtimeConditions = read(runtimeCondition);
    this.#networkConditions = read(networkCondition);
    this.#imagePulls = read(imagePull);
    this.#instances = read(serviceInstance);
    this.#transport.onConnection(changed);
    this.messages = new NodeMessages(connection, node);
    this.messages.listen(changed);
  }

  /** Whether messages are received now. */
  get connected(): boolean {
    return this.#transport.connected;
  }

  /** All messages that the node's record has now. */
  record(): Promise<StoredMessage[]> {
    return readRecord(this.#connection, this.#node, ['>'], `${inboxPrefix(PEOPLE)}.${systemIds.hex(8)}`);
  }

  /** Every pod about which a service publishes facts. */
  get pods(): WatchedPod[] {
    const refs = new Map<string, PodRef>();
    for (const { value } of this.#desired) refs.set(value.pod.metadata.uid, podRefOf(value.pod));
    for (const facts of [this.#works, this.#workers, this.#statuses, this.#runtimes]) {
      for (const { key, value } of facts as Iterable<{ key: string; value: { ref: PodRef } }>) refs.set(key, value.ref);
    }
    return [...refs.values()].map((ref) => this.#pod(ref));
  }

  /** The published facts about the pod with this UID; undefined if there are none. */
  pod(uid: string): WatchedPod | undefined {
    const says = [this.#works, this.#workers, this.#statuses, this.#runtimes].map(
      (facts) => facts.get(uid)?.value as { ref: PodRef } | undefined,
    );
    const desired = this.#desired.get(uid)?.value.pod;
    const ref = desired === undefined ? says.find((value) => value !== undefined)?.ref : podRefOf(desired);
    return ref && this.#pod(ref);
  }

  /** Pods of this name, with or without the node's name at its end; several while one replaces the other. */
  podsNamed(name: string): WatchedPod[] {
    return this.pods.filter(({ ref }) => ref.name === name || ref.name === `${name}-${this.#node}`);
  }

  /** The result of reading each manifest file. */
  get manifests(): ManifestReport[] {
    return [...this.#manifests].map(({ value }) => value);
  }

  get runtimeCondition(): RuntimeCondition | undefined {
    return [...this.#runtimeConditions][0]?.value;
  }

  get networkCondition(): NetworkCondition | undefined {
    return [...this.#networkConditions][0]?.value;
  }

  /** Image pulls that are running or queued. */
  get imagePulls(): ImagePull[] {
    return [...this.#imagePulls].map(({ value }) => value).sort((a, b) => (a.image < b.image ? -1 : 1));
  }

  /** Names of the instances that have announced themselves. */
  get instances(): string[] {
    return [...this.#instances].map(({ key }) => key);
  }

  /** A service that has announced itself, such as `sync-loop-0`. */
  instance(name: string): ServiceInstance | undefined {
    return [...this.#instances].find(({ key }) => key === name)?.value;
  }

  /** Calls `listener` after each change of a fact and each message. Call the returned function to end it. */
  follow(listener: () => void): () => void {
    return this.#conditions.follow(listener);
  }

  /** See {@link findWithin}. Checks after each change of a fact and each message. */
  until<T>(what: string, look: () => T | undefined, limitMs?: number): Promise<T> {
    return findWithin(this.#conditions, { what, look, describe: () => this.describe(), limitMs });
  }

  /** Waits for a pod of that name for which `isWanted` holds. */
  waitForPod(
    name: string,
    isWanted: (pod: WatchedPod) => boolean = isReady,
    what = String(isWanted),
  ): Promise<WatchedPod> {
    return this.until(`pod ${name}: ${what}`, () => this.podsNamed(name).find(isWanted));
  }

  /** Waits until no service publishes facts about a pod with this name. */
  async waitForNoPod(name: string): Promise<void> {
    await this.until(`no pod ${name}`, () => (this.podsNamed(name).length === 0 ? true : undefined));
  }

  /** One line for each pod, for errors. */
  describe(): string {
    const lines = this.pods.map(({ ref, desired, work, worker, status, runtime }) => {
      const containers = (status?.containerStatuses ?? []).map(({ name, state, restartCount }) => {
        const [kind = 'unknown', detail] = Object.entries(state ?? {})[0] ?? [];
        const reason = (detail as { reason?: string } | undefined)?.reason ?? '';
        return `${name} ${kind} ${reason} x${restartCount}`;
      });
      return [
        `  ${ref.name} ${ref.uid}: ${desired ? 'desired' : 'not desired'}, work ${work?.work ?? '-'}`,
        `worker ${worker?.state ?? '-'} ${worker?.error ?? ''}, ${status?.phase ?? '-'} [${containers.join('; ')}]`,
        `runtime ${runtime?.sandboxes.length ?? 0}/${runtime?.containers.length ?? 0}`,
      ].join(', ');
    });
    return [`  bus ${this.connected ? 'connected' : 'lost'}`, ...lines].join('\n');
  }

  async close(): Promise<void> {
    await this.#connection.close();
  }

  #pod(ref: PodRef): WatchedPod {
    const { uid } = ref;
    return {
      ref,
      desired: this.#desired.get(uid)?.value.pod,
      work: this.#works.get(uid)?.value,
      worker: this.#workers.get(uid)?.value,
      status: this.#statuses.get(uid)?.value.status,
      runtime: this.#runtimes.get(uid)?.value,
    };
  }
}

/** Whether the pod is Running, with every container ready. */
export function isReady({ status }: WatchedPod): boolean {
  return status?.phase === 'Running' && status.containerStatuses?.every(({ ready }) => ready) === true;
}
