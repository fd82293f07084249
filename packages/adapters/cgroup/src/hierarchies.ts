import { type Mount, listMounts } from '@kubus/filesystem';
import { hasErrno } from '@kubus/ports';
import { readFile, readdir, rmdir } from 'node:fs/promises';
import { join } from 'node:path';

/** The cgroup mounts of a machine. */
export interface CgroupMounts {
  /** 1 when some controller is in a hierarchy of its own, else 2. */
  readonly version: 1 | 2;
  /** Where each controller's cgroups are made; with v2 all in the same place. */
  readonly controllers: ReadonlyMap<string, string>;
  /** Where the hierarchy of v2 is, also where it has no controllers; undefined where there is none. */
  readonly unified?: string | undefined;
}

/**
 * Where the machine's cgroup hierarchies are mounted: one on a machine with v2; one per v1 controller, and maybe a v2 one
 * beside them, in which runc makes a container's cgroup too.
 */
export async function cgroupHierarchies(): Promise<string[]> {
  return (await readMounts()).map(({ target }) => target);
}

/** Which controller is where. Beside v1 hierarchies, one of v2 is for other programs. */
export async function cgroupMounts(): Promise<CgroupMounts> {
  const mounts = await readMounts();
  const v1 = mounts.filter(({ type }) => type === 'cgroup');
  const unified = mounts.find(({ type }) => type === 'cgroup2')?.target;
  if (v1.length > 0) {
    const controllers = v1.flatMap(({ target, options }) => options.map((option) => [option, target] as const));
    return { version: 1, controllers: new Map(controllers), unified };
  }
  const target = unified ?? '/sys/fs/cgroup';
  const names = (await readFile(join(target, 'cgroup.controllers'), 'utf8')).trim().split(' ');
  return { version: 2, controllers: new Map(names.map((name) => [name, target])), unified: target };
}

/**
 * The folders of `cgroup` (a path such as `/kubepods`) and of all below it, in every hierarchy, children first.
 *
 * @param mounts of the hierarchies; default: those of the machine
 */
export async function cgroupTree(cgroup: string, mounts?: readonly string[]): Promise<string[]> {
  const hierarchies = mounts ?? (await cgroupHierarchies());
  const trees = await Promise.all(hierarchies.map((mount) => foldersUnder(join(mount, cgroup))));
  return trees.flat();
}

/** Removes folders in order; returns the first that could not be removed because something is in it. */
export async function removeFolders(folders: readonly string[]): Promise<string | undefined> {
  for (const folder of folders) {
    try {
      await rmdir(folder);
    } catch (error) {
      if (hasErrno(error, 'EBUSY', 'ENOTEMPTY')) return folder;
      if (!hasErrno(error, 'ENOENT')) throw error;
    }
  }
  return undefined;
}

async function readMounts(): Promise<Mount[]> {
  return (await listMounts()).filter(({ type }) => type === 'cgroup' || type === 'cgroup2');
}

async function foldersUnder(folder: string): Promise<string[]> {
  const entries = await readdir(folder, { withFileTypes: true }).catch((error: unknown) => {
    // Not made in this hierarchy, or removed meanwhile.
    if (hasErrno(error, 'ENOENT')) return undefined;
    throw error;
  });
  if (entries === undefined) return [];
  const children = entries.filter((entry) => entry.isDirectory()).map(({ name }) => foldersUnder(join(folder, name)));
  return [...(await Promise.all(children)).flat(), folder];
}
