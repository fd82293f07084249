import { removeTree, unmountBelow } from '@kubus/filesystem';
import { hasErrno, ignoring } from '@kubus/ports';
import { realpath, rmdir } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { removeCgroupRoot } from '../runtime/cgroup-root.ts';
import { LauncherError } from '../errors.ts';
import { leaveMachineNetwork } from '../network/machine-network.ts';
import { deleteNetworkNamespace } from '../network/network-namespace.ts';
import type { NodeDir } from './node-dir.ts';
import { endProcesses, findProcesses } from '../processes/process-record.ts';
import { removeRuntime } from '../runtime/runtime-removal.ts';

/** Grace period of the services, in milliseconds. */
const graceMs = 5_000;
/** How often processes that appear meanwhile are killed. */
const rounds = 3;

/**
 * Removes a private node with everything it has on the machine, whatever state it is in: services first, then the runtime with its pods,
 * then namespaces and folders. Pods are killed; stop them before if they need a grace period. Harmless when there is no such node.
 *
 * @param onProblem called with what stays on the machine's network
 * @throws LauncherError `ProcessStuck` that names the processes that could not be killed.
 */
export async function removeNode(dir: NodeDir, runc?: string, onProblem?: (what: string) => void): Promise<void> {
  const isRuntime = (what: string) => what.startsWith('containerd');
  const services = (await findProcesses(dir.root, dir.processes)).filter(({ what }) => !isRuntime(what));
  await endProcesses(services, graceMs);
  await removeRuntime(dir, runc);
  await endStragglers(dir);
  await removeCgroupRoot(dir.cgroupRoot);
  const stays = await leaveMachineNetwork(dir);
  if (stays !== undefined) onProblem?.(stays);
  await deleteNetworkNamespace(dir.networkNamespace);
  await deleteNetworkNamespace(dir.machineNamespace);
  for (const folder of [dir.root, dir.run]) {
    // The folder that all nodes share may be reached through a link, which the list of mounts does not show.
    const shared = await ignoring(['ENOENT'], realpath(dirname(folder)));
    if (shared === undefined) continue;
    const own = join(shared, basename(folder));
    await unmountBelow(own);
    await removeTree(own);
    await removeIfEmpty(dirname(folder));
  }
}

/** Kills processes that others have started while they were being ended. */
async function endStragglers(dir: NodeDir): Promise<void> {
  for (let round = 1; ; round++) {
    const left = await findProcesses(dir.root, dir.processes);
    if (left.length === 0) {
      return;
    }
    if (round > rounds) {
      const names = left.map(({ what, pid }) => `${what} (${pid})`).join(', ');
      throw new LauncherError('ProcessStuck', `Processes of node ${dir.node} survive SIGKILL: ${names}`);
    }
    await endProcesses(left, 0);
  }
}

/** Removes the folder that all nodes of the machine share with the last node, unless something is mounted on it. */
async function removeIfEmpty(folder: string): Promise<void> {
  await rmdir(folder).catch((error: unknown) => {
    // In a container the folder above may be read-only, which the kernel looks at first.
    if (!hasErrno(error, 'ENOTEMPTY', 'ENOENT', 'EBUSY', 'EROFS')) throw error;
  });
}
