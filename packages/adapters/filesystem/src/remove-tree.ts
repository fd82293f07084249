import { hasErrno } from '@kubus/ports';
import { lstat, rmdir, unlink } from 'node:fs/promises';
import { basename, dirname } from 'node:path';
import { Held, type TreeEntry, walkTree } from './held.ts';
import { MountError } from './mount-programs.ts';
import { mountsBelow } from './mount-table.ts';

/** Maximum number of attempts to remove a folder that gets new files meanwhile. */
const ROUNDS = 10;

/**
 * Removes a folder with its contents; harmless if it does not exist. Follows no link. Refuses while anything is mounted at
 * or below it, also by another process: mounted files do not belong to the folder and must not be removed with it. A
 * mount that is made during the removal is not entered either.
 *
 * @param path without symbolic links, as in the mount table
 *
 * Throws {@link MountError} that names the mount.
 */
export async function removeTree(path: string): Promise<void> {
  const [mounted] = await mountsBelow(path);
  if (mounted !== undefined) throw stillMounted(path, `${mounted.target} is a mount (${mounted.type})`);
  const parent = await openParent(path);
  if (parent === undefined) return;
  try {
    await removeFrom(parent, path);
  } finally {
    await parent.close();
  }
}

async function openParent(path: string): Promise<Held | undefined> {
  try {
    return await Held.open(dirname(path), { folder: true });
  } catch (error) {
    if (hasErrno(error, 'ENOENT')) return undefined;
    throw error;
  }
}

async function removeFrom(parent: Held, path: string): Promise<void> {
  const name = basename(path);
  for (let round = 1; ; round += 1) {
    const isFolder = await lstat(parent.at(name)).then(
      (stats) => stats.isDirectory(),
      (error: unknown) => {
        if (hasErrno(error, 'ENOENT')) return undefined;
        throw error;
      },
    );
    if (isFolder === undefined) return;
    try {
      if (!isFolder) {
        await unlink(parent.at(name));
        return;
      }
      await removeFolder(parent, name, path);
      return;
    } catch (error) {
      if (hasErrno(error, 'ENOENT')) return;
      if (!hasErrno(error, 'ENOTEMPTY', 'EEXIST', 'ENOTDIR') || round === ROUNDS) throw error;
    }
  }
}

async function removeFolder(parent: Held, name: string, path: string): Promise<void> {
  const folder = await Held.open(parent.at(name), { folder: true });
  try {
    if (folder.mount !== parent.mount) throw stillMounted(path, 'something is mounted on it');
    await walkTree(folder, {
      visit: remove,
      mounted: (entry) => {
        throw stillMounted(path, `something is mounted on ${entry.name} in it`);
      },
    });
    await rmdir(parent.at(name));
  } finally {
    await folder.close();
  }
}

/** The kernel refuses to remove a mount point (EBUSY). */
async function remove({ folder, name, held }: TreeEntry): Promise<void> {
  await (held === undefined ? unlink(folder.at(name)) : rmdir(folder.at(name)));
}

function stillMounted(path: string, what: string): MountError {
  return new MountError('still-mounted', `${path} is not removed: ${what}`, { context: { path } });
}
