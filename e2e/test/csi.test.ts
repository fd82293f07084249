import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, afterEach, expect, test } from '@jest/globals';
import type { PodSpec, Volume } from '@kubus/contracts';
import { type TestNode, type CsiDriverSetup, TestCsiDriver } from '@kubus/harness';
import { type Cluster, type JsonObject, type KubeObject, isReady } from '@kubus/kube-fixture';
import { ClusterClaims, type DriverVolume, uniqueName } from '../src/cluster-claims.ts';
import { sharedClusterNode } from '../src/cluster-node.ts';
import { ClusterPods } from '../src/cluster-pods.ts';
import { eventMessages } from '../src/pod-facts.ts';
import { container } from '../src/pods.ts';

const DISKS = 'disks.example';
const ATTACHED = 'attached.example';
const NODE_IDS = 'csi.volume.kubernetes.io/nodeid';
const ZONE = 'topology.disks.example/zone';

let node: TestNode;
let cluster: Cluster;
let pods: ClusterPods;
let claims: ClusterClaims;
let disks: TestCsiDriver;
const drivers: TestCsiDriver[] = [];

// A driver keeps folders of the node in use: it is ended before the node.
afterAll(async () => {
  for (const driver of drivers) await driver.remove();
  for (const name of [DISKS, ATTACHED]) await cluster.delete({ kind: 'CSIDriver', name });
});
sharedClusterNode({}, async (parts) => {
  ({ node } = parts);
  cluster = parts.cluster.api;
  pods = new ClusterPods(parts);
  claims = new ClusterClaims(parts);
  const volumeLifecycleModes = ['Persistent', 'Ephemeral'];
  await claims.describe(DISKS, { attachRequired: false, podInfoOnMount: true, volumeLifecycleModes });
  disks = await startDriver(DISKS, {
    capabilities: ['STAGE_UNSTAGE_VOLUME', 'EXPAND_VOLUME'],
    topology: { [ZONE]: 'cellar' },
    maxVolumes: 7,
  });
});

// After each test no driver's volume is mounted, neither for a pod nor for the node.
afterEach(async () => {
  for (const driver of drivers) {
    expect(await driver.books()).toMatchObject({ staged: {}, published: {}, devices: {} });
  }
  expect(await pods.mountsBelow('')).toEqual([]);
});

async function startDriver(name: string, options: Partial<CsiDriverSetup>): Promise<TestCsiDriver> {
  const folder = join(node.folder, name);
  const registry = join(node.dir.pods, 'plugins_registry');
  const driver = await TestCsiDriver.start({ name, folder, registry, ...options });
  drivers.push(driver);
  return driver;
}

/** The drivers in the node's CSINode. */
function driversOf({ spec }: KubeObject): JsonObject[] {
  return (spec?.['drivers'] ?? []) as JsonObject[];
}

function volumesInUse({ status }: KubeObject): unknown {
  return status?.['volumesInUse'] ?? [];
}

/** The spec of a pod with this volume at `/all`. */
function having(volume: Omit<Volume, 'name'>): Partial<PodSpec> {
  const main = container({ name: 'main', volumeMounts: [{ name: 'data', mountPath: '/all' }] });
  return { volumes: [{ name: 'data', ...volume }], containers: [main] };
}

/** The content of a file in the driver's volume. */
function fileOf(driver: TestCsiDriver, volumeHandle: string, file: string): Promise<string> {
  return readFile(join(driver.setup.folder, 'volumes', volumeHandle, file), 'utf8');
}

/** Calls for a volume, in order. */
function callsFor({ story }: TestCsiDriver, volumeHandle: string): string[] {
  return story.filter((call) => call.endsWith(` ${volumeHandle}`)).map((call) => call.split(' ')[0] ?? '');
}

test('a driver is in the CSINode, and in the Node’s annotation and labels', async () => {
  const about = await cluster.waitFor({ kind: 'CSINode', name: node.name }, (one) => driversOf(one).length > 0);
  const nodeID = `${DISKS}-node`;
  expect(driversOf(about)).toEqual([{ name: DISKS, nodeID, topologyKeys: [ZONE], allocatable: { count: 7 } }]);
  const isTold = ({ metadata: { annotations, labels } }: KubeObject) =>
    annotations?.[NODE_IDS] !== undefined && labels?.[ZONE] !== undefined;
  const { metadata } = await cluster.waitFor({ kind: 'Node', name: node.name }, isTold);
  expect(JSON.parse(metadata.annotations?.[NODE_IDS] ?? '')).toEqual({ [DISKS]: nodeID });
  expect(metadata.labels).toMatchObject({ [ZONE]: 'cellar' });
  expect(about.metadata['ownerReferences']).toMatchObject([{ kind: 'Node', name: node.name, uid: metadata.uid }]);
});

test('the volume of a claim is shared by its pods, staged once, and unstaged after the last', async () => {
  const volume: DriverVolume = { driver: DISKS, volumeHandle: 'shared' };
  await claims.make('shared', { csi: volume });
  const claimed = having({ persistentVolumeClaim: { claimName: 'shared' } });
  const first = await pods.run('first', claimed);
  await pods.inside('first', 'main', 'echo through the driver >/all/file');
  expect(await fileOf(disks, 'shared', 'file')).toBe('through the driver\n');
  const second = await pods.run('second', claimed);
  expect(await pods.inside('second', 'main', 'cat /all/file')).toEqual(['through the driver']);
  await pods.remove(first);
  expect(await pods.inside('second', 'main', 'cat /all/file')).toEqual(['through the driver']);
  await pods.remove(second);
  const expected = ['stage', 'publish', 'publish', 'unpublish', 'unpublish', 'unstage'];
  expect(callsFor(disks, 'shared')).toEqual(expected);
  await claims.release('shared');
});

test('an inline volume is created and removed with its pod, whose name the driver receives', async () => {
  const one = await pods.run('inline', having({ csi: { driver: DISKS, volumeAttributes: { size: 'small' } } }));
  expect(await pods.inside('inline', 'main', 'echo mine >/all/file; cat /all/file')).toEqual(['mine']);
  const { request } = disks.calls.findLast(({ method }) => method === 'publish') ?? {};
  expect(request?.['volumeContext']).toMatchObject({
    size: 'small',
    'csi.storage.k8s.io/ephemeral': 'true',
    'csi.storage.k8s.io/pod.name': 'inline',
    'csi.storage.k8s.io/pod.uid': one.ref.uid,
  });
  const handle = String(request?.['volumeId']);
  expect(await fileOf(disks, handle, 'file')).toBe('mine\n');
  await pods.remove(one);
  expect(callsFor(disks, handle)).toEqual(['publish', 'unpublish']);
});

test('an expanded volume is larger in its pod, and in the status of its claim', async () => {
  await claims.make('growing', { csi: { driver: DISKS, volumeHandle: 'growing' } });
  const one = await pods.run('growing', having({ persistentVolumeClaim: { claimName: 'growing' } }));
  await cluster.patch({ kind: 'PersistentVolume', name: 'growing' }, { spec: { capacity: { storage: '2Mi' } } });
  await claims.says('growing', { conditions: [{ type: 'FileSystemResizePending', status: 'True' }] });
  // Claims cannot be watched by a node: they are read periodically, and at each start of the cache.
  await node.restart('object-cache-0');
  const claim = await cluster.waitFor({ kind: 'PersistentVolumeClaim', name: 'growing' }, ({ status }) => {
    return (status?.['capacity'] as JsonObject | undefined)?.['storage'] !== '1Mi';
  });
  expect(claim.status?.['capacity']).toEqual({ storage: '2Mi' });
  expect(claim.status?.['conditions'] ?? []).toEqual([]);
  expect(callsFor(disks, 'growing')).toEqual(['stage', 'publish', 'expand']);
  // Published after the claim has its size.
  const successes = () => eventMessages(node, one, 'FileSystemResizeSuccessful').length;
  await node.watch.until('the success is reported', () => (successes() > 0 ? true : undefined));
  expect(successes()).toBe(1);
  await pods.remove(one);
  await claims.release('growing');
});

test('a pod waits until its volume is attached, and the Node lists it while it is in use', async () => {
  const volume: DriverVolume = { driver: ATTACHED, volumeHandle: 'remote' };
  const about = { kind: 'Node', name: node.name };
  await claims.describe(ATTACHED, { attachRequired: true });
  const driver = await startDriver(ATTACHED, {});
  await claims.make('remote', { csi: volume });
  const claimed = having({ persistentVolumeClaim: { claimName: 'remote' } });
  const waiting = await pods.run('remote', claimed, () => true);
  const used = await cluster.waitFor(about, (one) => JSON.stringify(volumesInUse(one)) !== '[]');
  expect(volumesInUse(used)).toEqual([uniqueName(volume)]);
  expect(driver.story).toEqual([]);
  const attachment = await claims.attach('remote', volume);
  const one = await node.watch.waitForPod('remote');
  expect(one.ref).toEqual(waiting.ref);
  await cluster.waitFor({ kind: 'Pod', name: 'remote' }, isReady);
  const staged = driver.calls.find(({ method }) => method === 'stage');
  expect(staged?.request).toMatchObject({ publishContext: { device: 'sdb' } });
  await pods.remove(one);
  await cluster.waitFor(about, (now) => JSON.stringify(volumesInUse(now)) === '[]');
  await claims.detach(attachment);
  await claims.release('remote');
});

test('a driver that has ended is removed from the CSINode', async () => {
  for (const driver of drivers) await driver.stop();
  await cluster.waitFor({ kind: 'CSINode', name: node.name }, (one) => driversOf(one).length === 0);
  const { metadata } = await cluster.waitFor(
    { kind: 'Node', name: node.name },
    ({ metadata: { annotations } }) => annotations?.[NODE_IDS] === undefined,
  );
  // Volumes of the driver may still be there: its path stays published.
  expect(metadata.labels).toMatchObject({ [ZONE]: 'cellar' });
});
