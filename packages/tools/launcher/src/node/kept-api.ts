import { removeTree } from '@kubus/filesystem';
import { ignoring } from '@kubus/ports';
import { existsSync } from 'node:fs';
import { mkdir, readdir, rename, rmdir } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { NodeDir } from './node-dir.ts';

/** What stays of the folder of `kube-api`: the objects, the keys and the authority. The rest belongs to the node that is removed. */
const KEPT = /^(objects\.(db(-wal|-shm)?|key)|tokens\.key|ca\.(crt|key))$/;

/** Where the state of the Kubernetes API of a removed node is kept. No node can have this name. */
export function keptApi({ node, root }: Pick<NodeDir, 'node' | 'root'>): string {
  return join(dirname(root), '.kept', node);
}

/** Whether the state of its Kubernetes API is kept for a node of this name. */
export function hasKeptApi(dir: NodeDir): boolean {
  return existsSync(keptApi(dir));
}

/**
 * Keeps the state of the node's Kubernetes API for the next node of its name, in place of what was kept before. Its service must have
 * ended. Harmless when the node has no API.
 */
export async function keepApi(dir: NodeDir): Promise<void> {
  const state = dir.state('kube-api');
  if (!existsSync(join(state, 'objects.db'))) return;
  const kept = keptApi(dir);
  await removeTree(kept);
  await mkdir(dirname(kept), { recursive: true, mode: 0o700 });
  await rename(state, kept);
}

/** Gives the node what was kept for it, unless it has an API already. */
export async function takeKeptApi(dir: NodeDir): Promise<void> {
  const state = dir.state('kube-api');
  const kept = keptApi(dir);
  if (!existsSync(kept) || existsSync(state)) return;
  for (const name of await readdir(kept)) if (!KEPT.test(name)) await removeTree(join(kept, name));
  await rename(kept, state);
  await removeFolder(kept);
}

/** Removes what is kept for a node of this name. */
export async function removeKeptApi(dir: NodeDir): Promise<void> {
  const kept = keptApi(dir);
  await removeTree(kept);
  await removeFolder(kept);
}

/** The folder of all that is kept, with the last of it. */
async function removeFolder(kept: string): Promise<void> {
  await ignoring(['ENOENT', 'ENOTEMPTY'], rmdir(dirname(kept)));
}
