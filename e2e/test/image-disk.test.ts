// A node whose runtime has a disk of its own: what that is short of concerns images and layers, and what the node's is short of volumes and logs.
import { expect, test } from '@jest/globals';
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
  isOver,
  loadUnused,
  nodeEventsOf,
  podNames,
  rankingOf,
  setThresholds,
  writer,
} from '../src/disk-node.ts';
import { leftOn, mountSmallDisk, takeAllBut } from '../src/small-disk.ts';

const MEBIBYTE = 1024 * 1024;
const nodeDisk = ({ dir }: Pick<TestNode, 'dir'>) => dirname(dir.root);
const runtimeDisk = ({ dir }: Pick<TestNode, 'dir'>) => dir.containerd.root;

let node: TestNode;
let api: ApiSource;

sharedApiNode(
  async (parts) => {
    ({ node, api } = parts);
    const image = { 'imagefs.available': '15Mi', 'imagefs.inodesFree': '400' };
    await setThresholds(node, { ...image, 'nodefs.available': '15Mi' }, 1_000);
  },
  {
    prepare: async (dir) => {
      await mountSmallDisk(nodeDisk({ dir }), { mebibytes: 64 });
      await createNodeDir(dir);
      await mountSmallDisk(runtimeDisk({ dir }), { mebibytes: 64, inodes: 2500 });
    },
  },
);

const create = (manifest: object) => api.create(JSON.stringify(manifest)).metadata.uid;
const succeeded = ({ status }: WatchedPod) => status?.phase === 'Succeeded';
const noPressure = () => poll('no condition', async () => ((await conditions()).length === 0 ? true : undefined));

async function conditions(): Promise<string[]> {
  const { stdout } = await node.kubus('pressure', '-o', 'json');
  return (JSON.parse(stdout) as { conditions: string[] }).conditions;
}

async function ranked(signal: string, first: string): Promise<void> {
  await poll(`${first} uses most`, async () =>
    podNames(await rankingOf(node, signal))?.[0] === first ? true : undefined,
  );
}

test('for lack of room on the runtime’s disk, containers and images go, and the pod with the largest layer', async () => {
  create(ending('done', file('/filled', 10)));
  create(writer('layer', file('/filled', 10)));
  create(writer('volume', file('/data/filled', 14)));
  for (const name of ['layer', 'volume']) await node.watch.waitForPod(name, isReady);
  await node.watch.waitForPod('done', succeeded);
  const unused = await loadUnused(node, 'unused');
  await ranked('imagefs.available', 'layer');
  // Of the node's disk volumes and logs count.
  await ranked('nodefs.available', 'volume');

  const release = await takeAllBut(3 * MEBIBYTE, runtimeDisk(node));
  const evicted = await node.watch.waitForPod('layer', isOver);
  expect(evicted.status?.message).toMatch(
    /^The node was low on resource: ephemeral-storage\. Threshold quantity: 15Mi, available: \d+[KM]i\. /,
  );
  const { signal, reclaimed, ranking } = decisionOf(node, evicted) ?? {};
  expect([signal, reclaimed?.map(({ what }) => what)]).toEqual(['imagefs.available', ['containers', 'images']]);
  expect(podNames(ranking)).toEqual(['layer', 'volume']);
  expect(await imagesOf(node)).not.toContain(unused);
  expect(nodeEventsOf(node)).toContain('Warning EvictionThresholdMet Attempting to reclaim ephemeral-storage');
  release();
  await noPressure();
  await node.watch.waitForPod('volume', isReady);
});

test('for lack of room on the node’s disk, no container and no image goes, but the pod with the largest volume', async () => {
  create(ending('kept', file('/filled', 5)));
  create(writer('other', file('/filled', 12)));
  await node.watch.waitForPod('other', isReady);
  const { runtime } = await node.watch.waitForPod('kept', succeeded);
  const unused = await loadUnused(node, 'kept-image');

  const release = await takeAllBut(5 * MEBIBYTE, nodeDisk(node));
  const evicted = await node.watch.waitForPod('volume', isOver);
  expect(decisionOf(node, evicted)).toMatchObject({ signal: 'nodefs.available', reclaimed: [] });
  expect(await imagesOf(node)).toContain(unused);
  const kept = await node.watch.waitForPod('kept', succeeded);
  expect(kept.runtime?.containers.map(({ id }) => id)).toEqual(runtime?.containers.map(({ id }) => id));
  release();
  await noPressure();
  await node.watch.waitForPod('other', isReady);
});

test('for lack of inodes on the runtime’s disk, the pod with most files in its layer goes', async () => {
  create(writer('many-files', `mkdir /many && ${files('/many', leftOn(runtimeDisk(node)).inodes - 300)}`));
  const evicted = await node.watch.waitForPod('many-files', isOver);
  expect(evicted.status?.message).toMatch(
    /^The node was low on resource: inodes\. Threshold quantity: 400, available: \d+\. $/,
  );
  const { signal, reclaimed, ranking } = decisionOf(node, evicted) ?? {};
  expect([signal, reclaimed?.map(({ what }) => what)]).toEqual(['imagefs.inodesFree', ['containers', 'images']]);
  expect(podNames(ranking)?.[0]).toBe('many-files');
  await node.watch.waitForPod('other', isReady);
});
