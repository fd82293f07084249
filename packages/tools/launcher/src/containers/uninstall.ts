import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { runCommand } from '../processes/command.ts';
import { BRIDGE } from '../network/pod-network.ts';
import { removeNode } from '../node/remove-node.ts';
import { type ContainerDir, linksOf } from './container-dir.ts';

/**
 * Removes everything a node in containers has on its machine. Its pods are killed. Must be called when its containers are down, in the pid and
 * cgroup namespaces of the machine. Harmless to repeat.
 */
export async function uninstall(dir: ContainerDir): Promise<void> {
  // There is no runc in this container, and none is needed: all containers are in the node's cgroup.
  await rm(join(dir.containerd.state, 'runc'), { recursive: true, force: true });
  await removeNode(dir);
  for (const [path] of linksOf(dir)) await rm(path, { force: true });
  await runCommand(['nsenter', '--target=1', '--mount', '--net', '--', 'ip', 'link', 'delete', BRIDGE]).catch(
    () => undefined,
  );
}
