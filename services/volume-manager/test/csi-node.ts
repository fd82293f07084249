import type { FactOwner, FactReader } from '@kubus/bus';
import {
  type CachedObject,
  type ClaimExpansion,
  type ClusterNode,
  type CsiDriver,
  type CsiPersistentVolume,
  type CsiPlugin,
  type PersistentVolume,
  type Pod,
  type VolumeAttachment,
  type VolumeClaim,
  type VolumesInUse,
  cachedObject,
  claimExpansion,
  claimKey,
  clusterNode,
  csiDriver,
  csiPlugin,
  volumeAttachment,
  volumeClaim,
  volumesInUse,
} from '@kubus/contracts';
import { type CsiDriverSetup, TestCsiDriver } from '@kubus/harness';
import { type Clock, type RecordStore, silentLogger } from '@kubus/ports';
import { ManualClock, MemoryRecords } from '@kubus/ports/testing';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { type VolumeHost, createVolumeHost } from '../src/index.ts';
import { ScriptedNode, type Values, podWith } from './scripted-node.ts';
import { everything, makeRoot, removeRoot } from './test-root.ts';

export const DRIVER = 'disks.example';

const described: CsiDriver = {
  name: DRIVER,
  attachRequired: false,
  podInfoOnMount: false,
  requiresRepublish: false,
  seLinuxMount: false,
  fsGroupPolicy: 'ReadWriteOnceWithFSType',
  lifecycleModes: ['Persistent', 'Ephemeral'],
  tokenRequests: [],
};

/** The properties of a claim's volume. */
export interface ClaimedVolume extends Partial<CsiPersistentVolume>, Partial<Pick<PersistentVolume, 'volumeMode'>> {
  /** Of the volume, and of the claim. */
  readonly capacity?: string;
  readonly had?: string;
}

/** A pod that uses a claim, by its name. */
export function podOf(uid: string, claims: readonly string[], spec: Partial<Pod['spec']> = {}): Pod {
  const volumes = claims.map((claimName) => ({ name: claimName, persistentVolumeClaim: { claimName } }));
  return podWith(uid, volumes, spec);
}

/** A volume manager on the machine's real mounts, with drivers that are processes of their own. */
export class CsiNode<C extends Clock = ManualClock> {
  readonly clock: C;
  readonly node: ScriptedNode;
  readonly dir: string;
  readonly root: string;
  records: RecordStore = new MemoryRecords();
  values: Values | undefined;
  /** A wrapper between the manager and the machine. */
  between: (host: VolumeHost) => VolumeHost = (host) => host;
  readonly #drivers: TestCsiDriver[] = [];
  readonly #claims: FactOwner<VolumeClaim>;
  readonly #described: FactOwner<CsiDriver>;
  readonly attachments: FactOwner<VolumeAttachment>;
  readonly objects: FactOwner<CachedObject>;
  readonly #cluster: FactOwner<ClusterNode>;
  readonly plugins: FactReader<CsiPlugin>;
  readonly inUse: FactReader<VolumesInUse>;
  readonly expansions: FactReader<ClaimExpansion>;

  /** A node with a clock that the test advances, in a folder of its own. */
  static make(): CsiNode {
    return new CsiNode(new ManualClock(), makeRoot());
  }

  constructor(clock: C, dir: string) {
    this.clock = clock;
    this.dir = dir;
    this.root = join(dir, 'node');
    mkdirSync(this.root, { recursive: true });
    this.node = new ScriptedNode(clock);
    const { broker } = this.node;
    const { cache, agent } = this.node;
    this.#claims = cache.owner(volumeClaim);
    this.#described = cache.owner(csiDriver);
    this.attachments = cache.owner(volumeAttachment);
    this.objects = cache.owner(cachedObject);
    this.#cluster = agent.owner(clusterNode);
    const look = () => this.node.look();
    const looking = { changed: look, removed: look, complete: look };
    this.plugins = agent.reader(csiPlugin, looking);
    this.inUse = agent.reader(volumesInUse, looking);
    this.expansions = broker.join('status-manager', clock).bus.reader(claimExpansion, looking);
  }

  start(): Promise<void> {
    const { root, clock, records, values } = this;
    return this.node.start({
      root,
      host: (csi) => this.between(createVolumeHost({ root, clock, logger: silentLogger, csi })),
      records,
      ...(values && { values }),
    });
  }

  async driver(options: Partial<CsiDriverSetup> = {}): Promise<TestCsiDriver> {
    const { name = DRIVER } = options;
    const registry = join(this.root, 'plugins_registry');
    const driver = await TestCsiDriver.start({ name, folder: join(this.dir, name), registry, ...options });
    this.#drivers.push(driver);
    return driver;
  }

  /** Publishes the CSIDriver of a driver. */
  describe(driver: Partial<CsiDriver> = {}): void {
    const { name = DRIVER } = driver;
    this.#described.put(name, { ...described, ...driver });
    this.#described.complete();
  }

  /** Publishes a claim with a volume of its own, named after it. */
  claim(
    name: string,
    { volumeMode = 'Filesystem', capacity = '1Mi', had = capacity, ...source }: ClaimedVolume = {},
  ): void {
    const about = { namespace: 'default', name };
    const accessModes = ['ReadWriteOnce'];
    const volume: PersistentVolume = {
      ...{ name: `pv-${name}`, uid: `uid-pv-${name}`, claimUid: `uid-${name}`, accessModes, volumeMode, capacity },
      mountOptions: ['noatime'],
      source: {
        ...{ kind: 'csi', driver: DRIVER, volumeHandle: `handle-${name}`, fsType: 'ext4', readOnly: false },
        volumeAttributes: { kind: 'fast' },
        ...source,
      },
    };
    this.#claims.put(claimKey(about), {
      ...about,
      ...{ state: 'present', uid: `uid-${name}`, deleting: false, protected: true, phase: 'Bound' },
      ...{ volumeName: volume.name, volumeMode, accessModes, capacity: had, resizePending: had !== capacity, volume },
    });
  }

  /** Publishes a Node object with these volumes. */
  says(volumes: Pick<ClusterNode, 'volumesInUse' | 'volumesAttached'>): void {
    this.#cluster.put('node0', {
      ...{ name: 'node0', uid: 'node0', resourceVersion: '1', labels: {}, annotations: {}, taints: [], podCIDRs: [] },
      ...{ unschedulable: false, addresses: [], capacity: {}, allocatable: {}, deleting: false },
      ...volumes,
    });
  }

  /** The path of a pod's file system. */
  path(uid: string, specName: string): string {
    return join(this.root, 'pods', uid, 'volumes/kubernetes.io~csi', specName, 'mount');
  }

  /** Publishes that the pod's worker has stopped it; resolves when nothing of its volumes is left. */
  async end(uid: string): Promise<void> {
    this.node.worker(uid, 'terminated');
    await this.node.untilRemoved(uid);
  }

  /** Resolves when the first error of the pod's volumes contains this text. */
  untilFailed(uid: string, text: string): Promise<void> {
    return this.node.until(() => this.node.published(uid)?.errors?.[0]?.includes(text) === true);
  }

  /** What is left of volumes: on the machine, in the driver's state, and in the manager's records. */
  async remains(driver: TestCsiDriver): Promise<string[]> {
    const { staged, published, devices } = await driver.books();
    const books = [staged, published, devices].flatMap((book) => Object.entries(book).map((entry) => entry.join(' ')));
    return [...(await leftOver(this.root)), ...books, ...(await this.records.keys())];
  }

  async close(): Promise<void> {
    for (const driver of this.#drivers) if (driver.running) await driver.release();
    await this.node.kill();
    for (const driver of this.#drivers) await driver.kill();
    await removeRoot(this.dir, () => Promise.all(this.#drivers.map((driver) => driver.remove())));
  }
}

/** What is left of volumes, without the folders that every driver and every node has. */
export async function leftOver(root: string): Promise<string[]> {
  const devices = ['', '/publish', '/staging'].map((name) => `/csi/volumeDevices${name}`);
  const kept = ['', '/csi', `/csi/${DRIVER}`, ...devices].map((name) => `plugins/kubernetes.io${name}`);
  const paths = (await everything(root)).map((line) => line.split(' ')[2] ?? '');
  return paths.filter((one) => !['pods', 'plugins', ...kept].includes(one) && !one.startsWith('plugins_registry'));
}
