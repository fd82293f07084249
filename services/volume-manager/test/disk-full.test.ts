// The node's folder is on a file system of its own that has no space and no inodes left.
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import type { FactOwner } from '@kubus/bus';
import { type CachedObject, cachedObject } from '@kubus/contracts';
import { mount } from '@kubus/filesystem';
import { hasErrno, silentLogger } from '@kubus/ports';
import { ManualClock } from '@kubus/ports/testing';
import { FileRecordStore } from '@kubus/service-kit';
import { existsSync, mkdirSync, readFileSync, readdirSync, rmSync, statfsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createVolumeHost } from '../src/index.ts';
import { ScriptedNode, type Values, podWith } from './scripted-node.ts';
import { everything, makeRoot, removeRoot } from './test-root.ts';

let dir: string;
let root: string;
let state: string;
let clock: ManualClock;
let node: ScriptedNode;
let objects: FactOwner<CachedObject>;

beforeEach(async () => {
  dir = makeRoot();
  [root, state] = [join(dir, 'node'), join(dir, 'state')];
  for (const folder of [root, state]) {
    mkdirSync(folder);
    await mount({ type: 'tmpfs', source: 'tmpfs', target: folder, options: ['size=512k', 'nr_inodes=100'] });
  }
  clock = new ManualClock();
  node = new ScriptedNode(clock);
  objects = node.cache.owner(cachedObject);
  const values: Values = {
    read: ({ name, version }) =>
      Promise.resolve({
        ...{ uid: name, version, type: '', binaryValues: new Map() },
        values: new Map([['key', Buffer.from(valueAt(version))]]),
      }),
    token: () => Promise.reject(new Error('unexpected request for a token')),
  };
  await node.start({
    root,
    host: createVolumeHost({ root, clock, logger: silentLogger, objects: values }),
    records: new FileRecordStore({ dir: state, logger: silentLogger }),
  });
  node.complete();
});
afterEach(async () => {
  await node.kill();
  await removeRoot(dir);
});

/** The value of a version, long enough that a cut-off one is recognized. */
const valueAt = (version: string) => version.repeat(20_000);

function publishObject(version: string): void {
  const about = { kind: 'ConfigMap', namespace: 'default', name: 'conf' } as const;
  objects.put('ConfigMap/default/conf', { ...about, state: 'present', uid: 'conf', version, keys: ['key'] });
}

/** Creates files until there is no space for more. */
function fill(folder: string, bytes: number): void {
  const full = join(folder, 'full');
  mkdirSync(full);
  try {
    for (let file = 0; ; file++) writeFileSync(join(full, String(file)), Buffer.alloc(bytes));
  } catch (error) {
    if (!hasErrno(error, 'ENOSPC')) throw error;
  }
}

/** Leaves space for a part of a value. */
function fillSpace(folder: string): void {
  fill(folder, 32 * 1024);
  for (const name of readdirSync(join(folder, 'full')).slice(-1)) rmSync(join(folder, 'full', name));
  writeFileSync(join(folder, 'full/rest'), Buffer.alloc(restOf(folder) - 8 * 1024));
}

function restOf(folder: string): number {
  const { bavail, bsize } = statfsSync(folder);
  return bavail * bsize;
}

const free = (folder: string) => rmSync(join(folder, 'full'), { recursive: true });

const volumes = [
  { name: 'disk', emptyDir: {} },
  { name: 'conf', configMap: { name: 'conf' } },
];
const config = (uid: string) => join(root, 'pods', uid, 'volumes/kubernetes.io~configmap/conf');

test.each<[string, string[], (folder: string) => void]>([
  ['space', ['conf'], fillSpace],
  ['inodes', ['disk', 'conf'], (folder) => fill(folder, 0)],
])('volumes wait for %s, which is reported to the user; existing content stays intact', async (_, missing, fillUp) => {
  publishObject('1');
  node.want(podWith('a', volumes));
  await node.untilReady('a');
  const before = await everything(root);
  fillUp(root);
  publishObject('2');
  node.want(podWith('b', volumes));
  await node.until(
    () => node.published('a')?.errors?.length === 1 && node.published('b')?.errors?.length === missing.length,
  );
  expect(node.published('a')).toMatchObject({ ready: true, volumes: { conf: {}, disk: {} } });
  expect(node.published('b')).toMatchObject({ ready: false });
  expect(node.published('b')?.volumes['conf']).toBeUndefined();
  const failed = (name: string) =>
    expect.stringMatching(`^MountVolume.SetUp failed for volume "${name}" : .*no space left on device`);
  expect(node.published('a')?.errors).toEqual([failed('conf')]);
  expect(node.published('b')?.errors).toEqual(missing.map(failed));
  await node.until(() => node.events.length > missing.length);
  expect(node.events.every((event) => event.startsWith('FailedMount MountVolume.SetUp failed'))).toBe(true);
  expect(readFileSync(join(config('a'), 'key'), 'utf8')).toBe(valueAt('1'));
  expect(existsSync(join(config('b'), 'key'))).toBe(false);

  free(root);
  await clock.advance(122_000);
  await node.until(() =>
    ['a', 'b'].every((uid) => node.published(uid)?.ready && node.published(uid)?.errors === undefined),
  );
  for (const uid of ['a', 'b']) {
    expect(readFileSync(join(config(uid), 'key'), 'utf8')).toBe(valueAt('2'));
    expect(readdirSync(config(uid)).filter((name) => /^\.\.\d/.test(name))).toHaveLength(1);
  }
  for (const uid of ['a', 'b']) node.worker(uid, 'terminated');
  for (const uid of ['a', 'b']) await node.untilRemoved(uid);
  expect(await everything(root)).toEqual(before.slice(0, 1));
});

test('a pod gets no volume before its record can be written, and continues afterwards', async () => {
  fill(state, 0);
  node.want(podWith('a', volumes.slice(0, 1)));
  await node.until(() => node.published('a')?.errors !== undefined);
  expect(node.published('a')?.errors).toEqual([expect.stringContaining('no space left on device')]);
  expect(await everything(root)).toEqual([]);
  expect(readdirSync(state)).toEqual(['full']);
  free(state);
  await clock.advance(500);
  await node.untilReady('a');
  expect(readdirSync(state)).toEqual(['a.json']);
});
