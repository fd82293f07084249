import { hasErrno } from '@kubus/ports';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';

/** Kills every process in these cgroups; returns the first cgroup in which there was one. */
export async function killAllIn(folders: readonly string[]): Promise<string | undefined> {
  const lists = await Promise.all(
    folders.map((folder) => readFile(join(folder, 'cgroup.procs'), 'utf8').catch(() => '')),
  );
  for (const pid of new Set(lists.flatMap((list) => list.split('\n').map(Number)))) {
    // 0 stands for a process that our process namespace does not show; as a signal's target it would mean ourselves.
    if (pid > 0) kill(pid);
  }
  return folders.find((_, index) => lists[index] !== '');
}

function kill(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch (error) {
    if (!hasErrno(error, 'ESRCH')) throw error;
  }
}
