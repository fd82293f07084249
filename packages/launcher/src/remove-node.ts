import { hasErrno } from '@kubus/ports';
import { rmdir } from 'node:fs/promises';
import { dirname } from 'node:path';
import { removeCgroupRoot } from './cgroup-root.ts';
import { LauncherError } from './errors.ts';
import { removeTree, unmountAll } from './mounts.ts';
import { deleteNetworkNamespace } from './network-namespace.ts';
import type { NodeDir } from './node-dir.ts';
import { endProcesses, findProcesses } from './process-record.ts';
import { removeRuntime } from './runtime-removal.ts';

const graceMs = 5_000;
const rounds = 3;

/**
 * Removes a private node with all that it has on the machine, whatever state it is in and whoever started it: services
 * first, then the runtime with its pods, then namespace and folders. Pods are not asked to stop; who wants that stops
 * them before. Harmless when there is no such node.
 *
 * @throws LauncherError `ProcessStuck` that names the processes which could not be ended.
 */
export async function removeNode(dir: NodeDir, runc?: string): Promise<void> {
  const isRuntime = (what: string) => what.startsWith('containerd');
  const services = (await findProcesses(dir.root, dir.processes)).filter(({ what }) => !isRuntime(what));
  await endProcesses(services, graceMs);
  await removeRuntime(dir, runc);
  await endStragglers(dir);
  await removeCgroupRoot(dir.cgroupRoot);
  await deleteNetworkNamespace(dir.networkNamespace);
  await deleteNetworkNamespace(dir.machineNamespace);
  for (const folder of [dir.root, dir.run]) {
    await unmountAll(folder);
    await removeTree(folder);
    await removeIfEmpty(dirname(folder));
  }
}

/** Ends what the others have started while they were ended. */
async function endStragglers(dir: NodeDir): Promise<void> {
  for (let round = 1; ; round++) {
    const left = await findProcesses(dir.root, dir.processes);
    if (left.length === 0) {
      return;
    }
    if (round > rounds) {
      const names = left.map(({ what, pid }) => `${what} (${pid})`).join(', ');
      throw new LauncherError('ProcessStuck', `Processes of node ${dir.node} do not end: ${names}`);
    }
    await endProcesses(left, 0);
  }
}

/** The folder that all nodes of the machine share goes with the last of them, unless something is mounted on it. */
async function removeIfEmpty(folder: string): Promise<void> {
  await rmdir(folder).catch((error: unknown) => {
    if (!hasErrno(error, 'ENOTEMPTY', 'ENOENT', 'EBUSY')) throw error;
  });
}
