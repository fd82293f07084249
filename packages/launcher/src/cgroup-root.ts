import { setTimeout as wait } from 'node:timers/promises';
import { cgroupTree, removeFolders } from '@kubus/cgroup';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { LauncherError } from './errors.ts';

const lookMs = 5;
const killMs = 10_000;

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
    const busy = await removeFolders(folders);
    if (busy !== undefined && performance.now() > end) {
      throw new LauncherError('CgroupBusy', `Cgroup ${busy} cannot be removed: a process in it does not end`);
    }
    if (busy !== undefined) {
      await wait(lookMs);
    }
  }
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
