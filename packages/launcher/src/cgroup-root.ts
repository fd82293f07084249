import { readFile, readdir, rmdir } from 'node:fs/promises';
import { join } from 'node:path';
import { LauncherError } from './errors.ts';
import { listMounts } from './mounts.ts';

const lookMs = 5;
const killMs = 10_000;

/**
 * Where the machine's cgroup hierarchies are mounted: one on a machine with v2, one per v1 controller and maybe a v2 one
 * beside them (runc makes a container's cgroup in that one too).
 */
export async function cgroupHierarchies(): Promise<string[]> {
  const mounts = await listMounts();
  return mounts.filter(({ type }) => type === 'cgroup' || type === 'cgroup2').map(({ target }) => target);
}

/** The folders of `cgroup` (a path such as `/kubus-node`) and of all below it, in every hierarchy, children first. */
export async function cgroupTree(cgroup: string): Promise<string[]> {
  const hierarchies = await cgroupHierarchies();
  const trees = await Promise.all(hierarchies.map((mount) => foldersUnder(join(mount, cgroup))));
  return trees.flat();
}

/**
 * Removes the node's cgroup and all below it from every hierarchy; harmless when there is none. What still runs in it is
 * killed: it belongs to the node, also when the runtime that started it has lost it.
 *
 * @throws LauncherError `CgroupBusy` that names the cgroup when a process cannot be ended (it hangs in the kernel);
 * `NotANodeCgroup` for any other path than `/kubus-<node>`.
 */
export async function removeCgroupRoot(cgroup: string): Promise<void> {
  if (!/^\/kubus-[^/]+$/.test(cgroup)) {
    throw new LauncherError(
      'NotANodeCgroup',
      `${cgroup} is not the cgroup of a node (/kubus-<node>): nothing is killed`,
    );
  }
  const end = performance.now() + killMs;
  for (;;) {
    const folders = await cgroupTree(cgroup);
    if (folders.length === 0) {
      return;
    }
    for (const pid of await pidsIn(folders)) {
      kill(pid);
    }
    const busy = await removeEach(folders);
    if (busy !== undefined && performance.now() > end) {
      throw new LauncherError('CgroupBusy', `Cgroup ${busy} cannot be removed: a process in it does not end`);
    }
    if (busy !== undefined) {
      await new Promise((resolve) => setTimeout(resolve, lookMs));
    }
  }
}

/** Removes the folders in order; returns the first that could not be removed. */
async function removeEach(folders: readonly string[]): Promise<string | undefined> {
  for (const folder of folders) {
    try {
      await rmdir(folder);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT') {
        return folder;
      }
    }
  }
  return undefined;
}

async function foldersUnder(folder: string): Promise<string[]> {
  const entries = await readdir(folder, { withFileTypes: true }).catch(() => undefined);
  if (!entries) {
    return [];
  }
  const children = entries.filter((entry) => entry.isDirectory()).map(({ name }) => foldersUnder(join(folder, name)));
  return [...(await Promise.all(children)).flat(), folder];
}

async function pidsIn(folders: readonly string[]): Promise<Set<number>> {
  const lists = await Promise.all(
    folders.map((folder) => readFile(join(folder, 'cgroup.procs'), 'utf8').catch(() => '')),
  );
  // 0 stands for a process that our process namespace does not show; as a signal's target it would mean ourselves.
  return new Set(lists.flatMap((list) => list.split('\n').map(Number)).filter((pid) => pid > 0));
}

function kill(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch {
    // It has ended since it was listed.
  }
}
