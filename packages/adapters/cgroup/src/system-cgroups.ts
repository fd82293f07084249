import { cgroupOfProcess } from '@kubus/cgroup-config';
import { hasErrno } from '@kubus/ports';
import { readFile, readlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { FolderMaker, attempt } from './cgroup-maker.ts';
import type { CgroupMounts } from './hierarchies.ts';

/** How often processes are looked for that are still in the topmost cgroup: those that are moved may have started others. */
const LOOKS = 10;

/**
 * Moves processes into a cgroup in every hierarchy, and makes it where it is missing (kubeletCgroups). Processes that have ended are left
 * out. Throws {@link CgroupError}.
 */
export async function moveProcesses(mounts: CgroupMounts, path: string, pids: readonly number[]): Promise<void> {
  await new FolderMaker(mounts).make(path, {}, new Set(mounts.controllers.keys()));
  const { version, controllers } = mounts;
  const cpuset = controllers.get('cpuset');
  if (version === 1 && cpuset !== undefined) await inheritProcessors(cpuset, path);
  for (const mount of new Set(controllers.values())) {
    const file = join(mount, path, 'cgroup.procs');
    for (const pid of pids) {
      await attempt(file, () =>
        writeFile(file, String(pid)).catch((error: unknown) => {
          if (!hasErrno(error, 'ESRCH')) throw error;
        }),
      );
    }
  }
}

/**
 * Moves the processes of the topmost cgroup into another one (systemCgroups), except process 1 and the kernel's own, as the reference does
 * (behaviour:qos-and-cgroups). Throws {@link CgroupError}.
 *
 * @returns how many were moved
 */
export async function emptyRootCgroup(mounts: CgroupMounts, path: string, proc = '/proc'): Promise<number> {
  const { version, controllers, unified } = mounts;
  const root = version === 2 ? unified : controllers.get('devices');
  const moved = new Set<number>();
  for (let look = 0; root !== undefined && look < LOOKS; look += 1) {
    const pids = await ordinaryProcesses(join(root, 'cgroup.procs'), proc);
    if (pids.length === 0) break;
    await moveProcesses(mounts, path, pids);
    for (const pid of pids) moved.add(pid);
  }
  return moved.size;
}

/** The cgroup of a process; undefined where it is in several. */
export async function cgroupOf(pid: number, { version }: CgroupMounts): Promise<string | undefined> {
  return cgroupOfProcess(await readFile(`/proc/${pid}/cgroup`, 'utf8'), version);
}

async function ordinaryProcesses(file: string, proc: string): Promise<number[]> {
  const text = await attempt(file, () => readFile(file, 'utf8'));
  const pids = text.split('\n').map(Number);
  const isOrdinary = await Promise.all(pids.map(async (pid) => pid > 1 && (await hasProgram(`${proc}/${pid}/exe`))));
  return pids.filter((_, index) => isOrdinary[index]);
}

/** The kernel's threads have none. */
async function hasProgram(link: string): Promise<boolean> {
  return readlink(link).then(
    () => true,
    () => false,
  );
}

/** In v1 a cgroup takes no process before it has processors and memory nodes: a new one gets those of the one above. */
async function inheritProcessors(mount: string, path: string): Promise<void> {
  for (const name of ['cpuset.cpus', 'cpuset.mems']) {
    let above = mount;
    for (const part of path.split('/').filter((one) => one !== '')) {
      const [from, to] = [join(above, name), join((above = join(above, part)), name)];
      await attempt(to, async () => {
        if ((await readFile(to, 'utf8')).trim() === '') await writeFile(to, await readFile(from, 'utf8'));
      });
    }
  }
}
