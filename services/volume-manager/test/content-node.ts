import type { FactOwner } from '@kubus/bus';
import type { LocalMember } from '@kubus/bus/testing';
import { type ClusterNode, type Pod, clusterNode } from '@kubus/contracts';
import { KubeClient } from '@kubus/kube';
import { TestApiServer, nodeUser } from '@kubus/kube-fixture';
import { ObjectCache } from '@kubus/object-cache';
import { ObjectClient } from '@kubus/object-socket';
import { type Cancel, silentLogger } from '@kubus/ports';
import { ManualClock, MemoryRecords } from '@kubus/ports/testing';
import { systemIds } from '@kubus/service-kit';
import { mkdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { createVolumeHost } from '../src/index.ts';
import { ScriptedNode, type Volumes, podWith } from './scripted-node.ts';

const NODE = 'node0';

/** Reports each wait that begins. */
class ObservedClock extends ManualClock {
  readonly #listeners = new Set<() => void>();

  override after(ms: number, action: () => void): Cancel {
    const cancel = super.after(ms, action);
    for (const listener of this.#listeners) listener();
    return cancel;
  }

  /** Resolves, with the milliseconds, when a wait of such a duration begins from now on. */
  untilWaits(isIt: (ms: number) => boolean): Promise<number> {
    return new Promise((resolve) => {
      const look = () => {
        const found = this.waits.find(isIt);
        if (found === undefined) return;
        this.#listeners.delete(look);
        resolve(found);
      };
      this.#listeners.add(look);
      look();
    });
  }
}

/** A volume manager with a real object-cache beside it, which reads a real API server. */
export class ContentNode {
  readonly api: TestApiServer;
  // What the API server signs has times of the machine's clock.
  readonly clock = new ObservedClock(Date.now());
  readonly node = new ScriptedNode(this.clock);
  readonly records = new MemoryRecords();
  readonly root: string;
  readonly #socket: string;
  readonly #object: FactOwner<ClusterNode>;
  #cache: { member: LocalMember; stop(): Promise<void> } | undefined;

  static async start(dir: string): Promise<ContentNode> {
    const content = new ContentNode(dir, await TestApiServer.start());
    await content.startCache();
    await content.startManager();
    return content;
  }

  private constructor(dir: string, api: TestApiServer) {
    this.api = api;
    this.root = join(dir, 'node');
    this.#socket = join(dir, 'objects.sock');
    mkdirSync(this.root);
    this.#object = this.node.join('node-agent', this.clock).bus.owner(clusterNode);
  }

  async startManager(): Promise<void> {
    const objects = new ObjectClient(this.#socket);
    const host = createVolumeHost({ root: this.root, clock: this.clock, logger: silentLogger, objects });
    await this.node.start({ root: this.root, host, records: this.records, objects });
    this.node.complete();
  }

  async startCache(): Promise<void> {
    const ports = { clock: this.clock, logger: silentLogger };
    const client = await KubeClient.open({
      kubeconfig: await this.api.kubeconfig(nodeUser(NODE)),
      userAgent: 'test',
      ...ports,
    });
    const member = this.node.join('object-cache', this.clock);
    const ids = { ...systemIds, fraction: () => 0 };
    const cache = await ObjectCache.start({ bus: member.bus, client, ids, socket: this.#socket, ...ports });
    const stop = async () => {
      await cache.stop();
      await client.close();
    };
    this.#cache = { member, stop };
  }

  /** Stops object-cache. Its facts stay. */
  async stopCache(): Promise<void> {
    const cache = this.#cache;
    this.#cache = undefined;
    cache?.member.leave();
    await cache?.stop();
  }

  async stop(): Promise<void> {
    await this.node.kill();
    await this.stopCache();
    await this.api.close();
  }

  /** Binds a pod to the node whose only container mounts these volumes. Returns its UID. */
  run(name: string, volumes: Volumes, spec: Partial<Pod['spec']> = {}): string {
    const pod = podWith(name, volumes, { serviceAccountName: 'robot', ...spec });
    const made = this.api.create({
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: { name, namespace: 'default' },
      spec: { containers: [{ name: 'main', image: 'i' }], serviceAccountName: 'robot', nodeName: NODE },
    });
    const { uid } = made.metadata;
    this.want({ ...pod, metadata: { ...pod.metadata, uid } });
    return uid;
  }

  want(pod: Pod): void {
    this.node.want(pod, 'sync', 'api');
  }

  allocatable(allocatable: Record<string, string>): void {
    const none = {
      labels: {},
      annotations: {},
      taints: [],
      podCIDRs: [],
      addresses: [],
      volumesInUse: [],
      volumesAttached: [],
    };
    const self = { name: NODE, uid: 'n', resourceVersion: '1', unschedulable: false, deleting: false };
    this.#object.put(NODE, { ...self, ...none, capacity: allocatable, allocatable });
  }

  folder(uid: string, plugin: string, name: string): string {
    return join(this.root, 'pods', uid, 'volumes', `kubernetes.io~${plugin}`, name);
  }
}

/** `mode uid gid` of the file that a path leads to. */
export function rights(path: string): string {
  const { mode, uid, gid } = statSync(path);
  return `${(mode & 0o7777).toString(8)} ${uid} ${gid}`;
}
