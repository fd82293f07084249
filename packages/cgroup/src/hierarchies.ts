import { readFile, readdir, rmdir } from 'node:fs/promises';
import { join } from 'node:path';

/**
 * Where the machine's cgroup hierarchies are mounted: one on a machine with v2; one per v1 controller, and maybe a v2 one
 * beside them, in which runc makes a container's cgroup too.
 */
export async function cgroupHierarchies(): Promise<string[]> {
  const mounts = await readFile('/proc/self/mounts', 'utf8');
  return mounts
    .split('\n')
    .map((line) => line.split(' '))
    .filter(([, , type]) => type === 'cgroup' || type === 'cgroup2')
    .map(([, target = '']) => target);
}

/** The folders of `cgroup` (a path such as `/kubepods`) and of all below it, in every hierarchy, children first. */
export async function cgroupTree(cgroup: string): Promise<string[]> {
  const hierarchies = await cgroupHierarchies();
  const trees = await Promise.all(hierarchies.map((mount) => foldersUnder(join(mount, cgroup))));
  return trees.flat();
}

/** Removes folders in order; returns the first that could not be removed because something is in it. */
export async function removeFolders(folders: readonly string[]): Promise<string | undefined> {
  for (const folder of folders) {
    try {
      await rmdir(folder);
    } catch (error) {
      const code = codeOf(error);
      if (code === 'EBUSY' || code === 'ENOTEMPTY') return folder;
      if (code !== 'ENOENT') throw error;
    }
  }
  return undefined;
}

async function foldersUnder(folder: string): Promise<string[]> {
  const entries = await readdir(folder, { withFileTypes: true }).catch((error: unknown) => {
    // Not made in this hierarchy, or removed meanwhile.
    if (codeOf(error) === 'ENOENT') return undefined;
    throw error;
  });
  if (entries === undefined) return [];
  const children = entries.filter((entry) => entry.isDirectory()).map(({ name }) => foldersUnder(join(folder, name)));
  return [...(await Promise.all(children)).flat(), folder];
}

function codeOf(error: unknown): string | undefined {
  return (error as NodeJS.ErrnoException).code;
}
