import { setTimeout as wait } from 'node:timers/promises';
import { cgroupTree, removeFolders } from '@kubus/cgroup';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { LauncherError } from '../errors.ts';

/** Between two attempts to remove, in milliseconds. */
const retryMs = 5;
/** How long processes may take to end after SIGKILL, in milliseconds. */
const killMs = 10_000;

/**
 * Removes the node's cgroup and all below it from every hierarchy; harmless when there is none. Processes in it are killed: they belong to
 * the node, even when the runtime no longer knows them.
 *
 * @throws LauncherError `CgroupBusy` that names the cgroup when a process in it cannot be killed (it hangs in the kernel);
 * `NotANodeCgroup` for any path other than `/kubus-<node>`.
 */
export async function removeCgroupRoot(cgroup: string): Promise<void> {
  if (!/^\/kubus-[^/]+$/.test(cgroup)) {
    throw new LauncherError(
      'NotANodeCgroup',
      `${cgroup} is not the cgroup of a node (/kubus-<node>): nothing was killed or removed`,
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
      throw new LauncherError(
        'CgroupBusy',
        `Cannot remove cgroup ${busy}: a process in it survives SIGKILL (see its cgroup.procs)`,
      );
    }
    if (busy !== undefined) {
      await wait(retryMs);
    }
  }
}

async function pidsIn(folders: readonly string[]): Promise<Set<number>> {
  const lists = await Promise.all(
    folders.map((folder) => readFile(join(folder, 'cgroup.procs'), 'utf8').catch(() => '')),
  );
  // 0 is a process outside of our pid namespace; as the target of a signal it would mean our own process group.
  return new Set(lists.flatMap((list) => list.split('\n').map(Number)).filter((pid) => pid > 0));
}

function kill(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch {
    // It has ended since it was listed.
  }
}
