import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, expect, test } from '@jest/globals';
import { TestCsiDriver, type TestNode, isReady, poll, testSeed } from '@kubus/harness';
import type { Cluster } from '@kubus/kube-fixture';
import { isReady as isReadyObject } from '@kubus/kube-fixture';
import { ClusterClaims } from '../src/cluster-claims.ts';
import { sharedClusterNode } from '../src/cluster-node.ts';
import { ClusterPods } from '../src/cluster-pods.ts';
import {
  CLAIMED,
  DRIVER,
  everyVolume,
  makeSources,
  mountsOfPod,
  readLine,
  removeSources,
  stagingMount,
  whatIsRead,
  writtenBy,
} from '../src/every-volume.ts';
import { recordFailure } from '../src/failure-record.ts';
import { runPhase } from '../src/kill-phase.ts';
import { type PlannedKill, planKills } from '../src/kill-plan.ts';
import { leftoversOfPods } from '../src/leftovers.ts';
import { pod } from '../src/pods.ts';

const seed = testSeed('volumes-kill');

const services = [
  'volume-manager-0',
  'object-cache-0',
  'pod-workers-0',
  'cri-bridge-0',
  'sync-loop-0',
  'node-agent-0',
  'status-manager-0',
] as const;
const victims = [...services, 'csi-driver'] as const;
type Victim = (typeof victims)[number];

const names = Array.from({ length: 6 }, (_, index) => `every-${index}`);

let node: TestNode;
let cluster: Cluster;
let pods: ClusterPods;
let claims: ClusterClaims;
let driver: TestCsiDriver | undefined;

// The driver keeps folders of the node in use: it is ended before the node.
afterAll(async () => {
  await driver?.remove();
  await cluster.delete({ kind: 'CSIDriver', name: DRIVER });
});
sharedClusterNode({}, (parts) => {
  ({ node } = parts);
  cluster = parts.cluster.api;
  pods = new ClusterPods(parts);
  claims = new ClusterClaims(parts);
});

test(`six pods with every kind of volume start and end correctly while processes are killed (seed ${seed})`, async () => {
  const kills: string[] = [];
  try {
    await comeAndGo(kills);
  } catch (error) {
    const account = [`seed ${seed}, kills in order:`, ...kills].join('\n');
    const folder = await recordFailure(node, `volumes-kill-seed-${seed}`, `${String(error)}\n${account}`);
    throw new Error(`seed ${seed} failed; its messages and logs are in ${folder}\n${account}`, { cause: error });
  }
});

async function comeAndGo(kills: string[]): Promise<void> {
  const csi = await startDriver();
  await makeSources(cluster, claims, node.folder, node.name);
  const attachment = await claims.attach('by-csi', CLAIMED);
  const plan = planKills(seed, { phases: ['create', 'delete'], victims, afterCommands: 5 });

  await phase(plan.get('create'), kills, names, (name) => pods.create(pod(name, everyVolume(node.folder))));
  await everyServiceBack();
  const uids = await Promise.all(names.map(untilRight));
  for (const name of names) expect(await pods.inside(name, 'main', readLine)).toEqual(whatIsRead(name));
  const folders = ['host', 'by-host-path', 'by-local', join(DRIVER, 'volumes', CLAIMED.volumeHandle)];
  const kept = folders.map((folder) => join(node.folder, folder));
  expect(new Set(await writtenBy(names, kept))).toEqual(new Set(['started\n']));
  for (const uid of uids) expect((await pods.mountsOf(uid)).sort()).toEqual(mountsOfPod);
  expect(await pods.mountsBelow('plugins')).toEqual([stagingMount]);

  await phase(plan.get('delete'), kills, names, (name) => cluster.delete({ kind: 'Pod', name }));
  await everyServiceBack();
  for (const name of names) await cluster.waitGone({ kind: 'Pod', name });
  await node.watch.until('nothing of the pods on the node', () => (node.watch.pods.length === 0 ? true : undefined));
  await cluster.waitFor({ kind: 'Node', name: node.name }, ({ status }) => {
    return JSON.stringify(status?.['volumesInUse'] ?? []) === '[]';
  });
  await csi.stop();
  expect(await csi.books()).toMatchObject({ staged: {}, published: {}, devices: {} });
  expect(await readdir(join(node.dir.pods, 'pods'))).toEqual([]);
  expect(await pods.mountsBelow('')).toEqual([]);
  expect(await lastLeftovers()).toEqual([]);
  expect(new Set(await writtenBy(names, kept))).toEqual(new Set(['started\n']));
  await claims.detach(attachment);
  await removeSources(cluster, claims);
}

async function startDriver(): Promise<TestCsiDriver> {
  await claims.describe(DRIVER, { attachRequired: true, volumeLifecycleModes: ['Persistent', 'Ephemeral'] });
  const registry = join(node.dir.pods, 'plugins_registry');
  driver = await TestCsiDriver.start({ name: DRIVER, folder: join(node.folder, DRIVER), registry });
  return driver;
}

/** Runs an action for every pod, and kills processes meanwhile. */
async function phase(
  planned: readonly PlannedKill<Victim>[] = [],
  kills: string[],
  wanted: readonly string[],
  act: (name: string) => Promise<void>,
): Promise<void> {
  const kill = async (victim: Victim) => {
    kills.push(`  ${new Date().toISOString()} ${victim}`);
    if (victim !== 'csi-driver') {
      killed.add((await node.kill(victim)).pid);
      return;
    }
    await driver?.kill();
    await driver?.live();
  };
  await runPhase({ node, kills: planned, actions: wanted.map((name) => () => act(name)), kill });
}

const killed = new Set<number>();

/** Every restarted process has announced itself. */
async function everyServiceBack(): Promise<void> {
  await node.watch.until('every service', () => {
    const pids = services.map((service) => node.watch.instance(service)?.pid);
    return node.watch.connected && pids.every((pid) => pid !== undefined && !killed.has(pid)) ? true : undefined;
  });
}

/** Resolves with the pod's UID, once it is ready on the node and in the cluster. No container was restarted. */
async function untilRight(name: string): Promise<string> {
  const { ref, status } = await node.watch.waitForPod(name, isReady);
  expect(status?.containerStatuses?.map(({ restartCount }) => restartCount)).toEqual([0]);
  await cluster.waitFor({ kind: 'Pod', name }, isReadyObject);
  return ref.uid;
}

/** Permanent leftovers only: a network that could not be removed at first is removed by a later attempt. */
async function lastLeftovers(): Promise<string[]> {
  let left: string[] = [];
  const isEmpty = async () => ((left = await leftoversOfPods(node)).length === 0 ? true : undefined);
  await poll('nothing is left of the pods', isEmpty).catch(() => undefined);
  return left;
}
