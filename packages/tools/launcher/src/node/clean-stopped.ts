import { removeTree, unmountBelow } from '@kubus/filesystem';
import { ignoring } from '@kubus/ports';
import { realpath } from 'node:fs/promises';
import { removeCgroupRoot } from '../runtime/cgroup-root.ts';
import { leaveMachineNetwork } from '../network/machine-network.ts';
import { deleteNetworkNamespace } from '../network/network-namespace.ts';
import type { NodeDir } from './node-dir.ts';

/**
 * Removes what is left of a node of which no process runs, such as after the machine has restarted, so that it can be started again: processes of
 * containers, cgroups, namespaces, mounts, sockets, and what containerd knows of running containers. Everything that a restart of the
 * machine keeps stays: settings, keys, state of the services with its recordings, images and logs.
 */
export async function cleanStopped(dir: NodeDir): Promise<void> {
  await removeCgroupRoot(dir.cgroupRoot);
  await leaveMachineNetwork(dir);
  await deleteNetworkNamespace(dir.networkNamespace);
  await deleteNetworkNamespace(dir.machineNamespace);
  for (const folder of [dir.root, dir.run]) {
    // The list of mounts does not show links.
    const own = await ignoring(['ENOENT'], realpath(folder));
    if (own !== undefined) await unmountBelow(own);
  }
  await removeTree(dir.run);
  await removeTree(dir.containerd.state);
}
