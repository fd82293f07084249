import { mkdir, readFile, readdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { expect, test } from '@jest/globals';
import { hasKeptApi, keepApi, keptApi, removeKeptApi, takeKeptApi } from '../src/node/kept-api.ts';
import { type NodeDir, nodeDir } from '../src/node/node-dir.ts';
import { removeNode } from '../src/node/remove-node.ts';
import { testFolder } from './support.ts';

/** What a service has in its folder besides the API's own files. */
const OF_THE_NODE = 'epoch.db';

async function nodeWithApi(content: string): Promise<NodeDir> {
  const folder = await testFolder();
  const dir = nodeDir('a', { base: join(folder, 'lib'), runBase: join(folder, 'run') });
  await fill(dir, content);
  return dir;
}

async function fill(dir: NodeDir, content: string): Promise<void> {
  const state = dir.state('kube-api');
  await mkdir(state, { recursive: true });
  for (const name of ['objects.db', 'objects.db-wal', 'objects.key', 'tokens.key', 'ca.crt', 'ca.key', OF_THE_NODE]) {
    await writeFile(join(state, name), content);
  }
}

const objects = (dir: NodeDir) => readFile(join(dir.state('kube-api'), 'objects.db'), 'utf8');

test('what an API has stored outlives its node, and the next one of the name takes it over', async () => {
  const dir = await nodeWithApi('first');
  await keepApi(dir);
  await removeNode(dir);
  await fill(dir, 'second');
  await takeKeptApi(dir);
  // The state of a node that exists is never replaced.
  expect(await objects(dir)).toBe('second');
  await keepApi(dir);
  await removeNode(dir);
  expect(hasKeptApi(dir)).toBe(true);
  await mkdir(dir.state('.'), { recursive: true });
  await takeKeptApi(dir);
  expect(await objects(dir)).toBe('second');
  const names = ['ca.crt', 'ca.key', 'objects.db', 'objects.db-wal', 'objects.key', 'tokens.key'];
  expect(await readdir(dir.state('kube-api'))).toEqual(names);
  expect(await readdir(dirname(dir.root))).toEqual(['a']);
});

test('nothing is kept of a node without an API, and what is kept can be removed', async () => {
  const dir = await nodeWithApi('first');
  await keepApi(dir);
  expect(await readdir(keptApi(dir))).toContain('objects.db');
  await keepApi(dir);
  expect(hasKeptApi(dir)).toBe(true);
  await removeKeptApi(dir);
  expect(hasKeptApi(dir)).toBe(false);
  expect(await readdir(dirname(dir.root))).toEqual(['a']);
  await takeKeptApi(dir);
});
