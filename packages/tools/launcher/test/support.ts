import { randomBytes } from 'node:crypto';
import { mkdir, mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach } from '@jest/globals';
import { removeTree, unmountBelow } from '@kubus/filesystem';
import { type NodeDir, createNodeDir, nodeDir } from '../src/node/node-dir.ts';
import { removeNode } from '../src/node/remove-node.ts';

const undo: (() => Promise<unknown>)[] = [];

/** Runs `action` after the test, the last one first, also when the test fails. */
export function afterTest(action: () => Promise<unknown>): void {
  undo.push(action);
}

afterEach(async () => {
  for (const action of undo.splice(0).reverse()) {
    await action();
  }
});

/** An empty folder that is removed after the test. */
export async function testFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'kubus-launcher-'));
  afterTest(async () => {
    await unmountBelow(folder);
    await removeTree(folder);
  });
  return folder;
}

/** The folders of a node with a unique name; everything of the node is removed after the test. */
export async function testNode(): Promise<NodeDir> {
  const folder = await testFolder();
  await mkdir(join(folder, 'lib'));
  const dir = nodeDir(`test-${randomBytes(4).toString('hex')}`, {
    base: join(folder, 'lib'),
    runBase: join(folder, 'run'),
  });
  afterTest(() => removeNode(dir));
  await createNodeDir(dir);
  return dir;
}
