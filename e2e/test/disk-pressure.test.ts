// A node that is on a small disk, with all that it has: it removes what nobody needs, evicts who uses most, and goes on by itself.
import { expect, test } from '@jest/globals';
import { nodePressure } from '@kubus/contracts';
import { type ApiSource, type TestNode, type WatchedPod, isReady, poll } from '@kubus/harness';
import { createNodeDir } from '@kubus/launcher';
import { dirname } from 'node:path';
import { sharedApiNode } from '../src/api-node.ts';
import {
  decisionOf,
  ending,
  file,
  files,
  imagesOf,
  isEvicted,
  isOver,
  loadUnused,
  nodeEventsOf,
  podNames,
  rankingOf,
  setThresholds,
  writer,
} from '../src/disk-node.ts';
import { healthOf } from '../src/health.ts';
import { containerStatus } from '../src/pod-facts.ts';
import { pod } from '../src/pods.ts';
import { leftOn, mountSmallDisk, takeAllBut } from '../src/small-disk.ts';

const MEBIBYTE = 1024 * 1024;
const diskOf = ({ dir }: Pick<TestNode, 'dir'>) => dirname(dir.root);

let node: TestNode;
let api: ApiSource;

sharedApiNode(
  async (parts) => {
    ({ node, api } = parts);
    await setThresholds(node, { 'nodefs.available': '20Mi', 'nodefs.inodesFree': '500' }, 60_000);
  },
  {
    prepare: async (dir) => {
      await mountSmallDisk(diskOf({ dir }), { mebibytes: 96, inodes: 2500 });
      await createNodeDir(dir);
    },
  },
);

const create = (manifest: object) => api.create(JSON.stringify(manifest)).metadata.uid;

/** Whether the last reading was above the threshold of room. */
async function hasRoom(): Promise<boolean> {
  const { stdout } = await node.kubus('pressure', '-o', 'json');
  const { signals } = JSON.parse(stdout) as { signals: { signal: string; available: number }[] };
  return (signals.find(({ signal }) => signal === 'nodefs.available')?.available ?? 0) > 20 * MEBIBYTE;
}

/** The conditions that the node has had, each change once. */
function conditionsSeen(): string[] {
  const seen = node.watch.messages
    .ofType('node.fact.pressure')
    .filter(({ message }) => message.data !== '')
    .map(({ message }) => nodePressure.payload.parse(JSON.parse(message.data)).conditions.join());
  return seen.filter((one, index) => one !== seen[index - 1]);
}

/** So little that what nobody needs is not enough. */
const SHORT = 4 * MEBIBYTE;
const runOf = (one: WatchedPod) => [containerStatus(one)?.containerID, containerStatus(one)?.restartCount];

test('a full disk first loses what nobody needs, then the pod that uses most of it, and the others stay', async () => {
  create(ending('done', file('/filled', 10)));
  create(writer('layer', file('/filled', 10)));
  create(writer('volume', file('/data/filled', 7)));
  create(writer('log', 'yes 0123456789012345678901234567890123456789 | head -n 50000'));
  create(writer('modest', file('/filled', 1), { requests: { 'ephemeral-storage': '20Mi' } }));
  const order = ['layer', 'volume', 'log', 'modest'];
  const before = await Promise.all(order.map((name) => node.watch.waitForPod(name, isReady)));
  await node.watch.waitForPod('done', ({ status }) => status?.phase === 'Succeeded');
  const unused = await loadUnused(node, 'unused');
  expect(await imagesOf(node)).toContain(unused);
  // The figures of layers and volumes are some seconds old.
  await poll('what the pods use', async () =>
    order.join() === podNames(await rankingOf(node, 'nodefs.available'))?.join() ? true : undefined,
  );

  const release = await takeAllBut(SHORT, diskOf(node));
  const evicted = await node.watch.waitForPod('layer', isOver);
  expect(evicted.status?.message).toMatch(
    /^The node was low on resource: ephemeral-storage\. Threshold quantity: 20Mi, available: \d+[KM]i\. Container main was using \d+[KM]i, request is 0, has larger consumption of ephemeral-storage\. $/,
  );
  const { signal, available, reclaimed, ranking: ranked } = decisionOf(node, evicted) ?? {};
  expect([signal, podNames(ranked)]).toEqual(['nodefs.available', order]);
  expect(available).toBeLessThan(5 * MEBIBYTE);
  const [containers, ofImages] = reclaimed ?? [];
  expect([containers?.what, ofImages?.what]).toEqual(['containers', 'images']);
  // The runtime gives it back a moment after the container is removed.
  expect((containers?.after ?? 0) - (containers?.before ?? 0)).toBeGreaterThan(9 * MEBIBYTE);
  const finished = await node.watch.waitForPod('done', ({ runtime }) => (runtime?.containers ?? []).length === 0);
  expect([finished.status?.phase, await imagesOf(node)]).toEqual(['Succeeded', expect.not.arrayContaining([unused])]);
  expect(nodeEventsOf(node)).toContain('Warning EvictionThresholdMet Attempting to reclaim ephemeral-storage');
  await poll('a healthy node', async () => ((await healthOf(node)).healthy ? true : undefined));

  // One was enough. It comes back before the condition has ended, and the next one goes.
  await poll('a reading above the threshold', async () => ((await hasRoom()) ? true : undefined));
  expect(conditionsSeen()).toEqual(['', 'DiskPressure']);
  release();
  const again = await takeAllBut(19 * MEBIBYTE, diskOf(node));
  const second = await node.watch.waitForPod('volume', isOver);
  expect(decisionOf(node, second)?.available).toBeGreaterThan(SHORT);
  again();
  create(pod('late'));
  const late = await node.watch.waitForPod('late', ({ status }) => status?.phase === 'Failed');
  expect(late.status?.message).toBe('Pod was rejected: The node had condition: [DiskPressure]. ');
  for (const service of ['sync-loop-0', 'pod-workers-0', 'cri-bridge-0', 'volume-manager-0'])
    await node.restart(service);
  await node.replaced(await node.kill('containerd'));
  await node.watch.until('no condition', () => (conditionsSeen().at(-1) === '' ? true : undefined));
  expect(conditionsSeen()).toEqual(['', 'DiskPressure', '']);
  const after = order.map((name) => node.watch.waitForPod(name, (one) => isOver(one) || isReady(one)));
  const states = (await Promise.all(after)).map((one) => [one.ref.name, isEvicted(one), runOf(one)]);
  expect(states).toEqual(before.map((one, index) => [order[index], index < 2, runOf(one)]));
  create(pod('later'));
  await node.watch.waitForPod('later', isReady);
}, 260_000);

test('a disk without inodes loses the pod that has most files, whatever their size', async () => {
  create(writer('few-files', `${files('/data', 50)}; ${file('/data/filled', 2)}`));
  await node.watch.waitForPod('few-files', isReady);
  const left = leftOn(diskOf(node)).inodes;
  create(writer('many-files', files('/data', left - 400)));
  const evicted = await node.watch.waitForPod('many-files', isOver);
  expect(evicted.status?.message).toMatch(
    /^The node was low on resource: inodes\. Threshold quantity: 500, available: \d+\. $/,
  );
  const { signal, ranking: ranked } = decisionOf(node, evicted) ?? {};
  expect([signal, ranked?.pods[0]?.ref.name]).toEqual(['nodefs.inodesFree', 'many-files']);
  expect(nodeEventsOf(node).at(-1)).toBe('Warning EvictionThresholdMet Attempting to reclaim inodes');
  await node.watch.waitForPod('few-files', isReady);
  await poll('a healthy node', async () => ((await healthOf(node)).healthy ? true : undefined));
});
