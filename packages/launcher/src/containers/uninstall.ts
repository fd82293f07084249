import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { runCommand } from '../command.ts';
import { BRIDGE } from '../pod-network.ts';
import { removeNode } from '../remove-node.ts';
import { type ContainerDir, linksOf } from './container-dir.ts';

/**
 * Removes all that a node of containers has on its machine, its pods too: they are not asked to stop. To be called when its
 * containers are down, with the process ids and cgroups of the machine. Harmless to repeat.
 */
export async function uninstall(dir: ContainerDir): Promise<void> {
  // There is no runc here to be asked, and no need: all of its containers are in the node's cgroup.
  await rm(join(dir.containerd.state, 'runc'), { recursive: true, force: true });
  await removeNode(dir);
  for (const [path] of linksOf(dir)) await rm(path, { force: true });
  await runCommand(['nsenter', '--target=1', '--mount', '--net', '--', 'ip', 'link', 'delete', BRIDGE]).catch(
    () => undefined,
  );
}
