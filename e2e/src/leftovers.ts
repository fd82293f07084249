import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { TestNode } from '@kubus/harness';
import { cgroupTree } from '@kubus/cgroup';
import { mountsBelow } from '@kubus/filesystem';
import { runCommand } from '@kubus/launcher';
import { silentLogger } from '@kubus/ports';
import { JournalRecordStore } from '@kubus/service-kit';

/** Files of host-local that are not an address in use. */
const notAnAddress = /^(lock|last_reserved_ip\.\d+)$/;

/**
 * What a running node without pods still has of earlier ones, one line each: sandboxes, containers, tasks, network namespaces,
 * addresses, mounts, cgroups, records, logs.
 */
export async function leftoversOfPods(node: TestNode): Promise<string[]> {
  const { dir } = node;
  const { items = [] } = await node.cri('ListPodSandbox', {});
  const { containers = [] } = await node.cri('ListContainers', {});
  // The state folder may be a mount of its own, and the folder of the pods is one, for mount propagation.
  const own = [dir.state('.'), dir.pods];
  const mounts = (await mountsBelow(dir.root)).filter(({ target }) => !own.includes(target));
  const namespaces = (await mountsBelow(dir.run)).filter(
    ({ target }) => target !== dir.networkNamespace && target !== dir.machineNamespace,
  );
  const cgroups = (await cgroupTree(dir.cgroupRoot)).filter((folder) => /\/pod[^/]+(\/|$)/.test(folder));
  const attachments = new JournalRecordStore({
    path: join(dir.state('cni-bridge'), 'attachments.jsonl'),
    logger: silentLogger,
  });
  const links = (await runCommand(node.inside(['ip', '-oneline', 'link', 'show']))).split('\n');
  return [
    ...items.map(({ id, metadata }) => `sandbox ${metadata?.name ?? ''} ${id ?? ''}`),
    ...containers.map(({ id, metadata }) => `container ${metadata?.name ?? ''} ${id ?? ''}`),
    ...mounts.map(({ target, type }) => `mount ${target} (${type})`),
    ...namespaces.map(({ target }) => `network namespace ${target}`),
    ...cgroups.map((folder) => `cgroup ${folder}`),
    ...links.filter((line) => line.includes(': veth')).map((line) => `link ${line}`),
    ...(await filesBelow(dir.cni.data)).filter((path) => !notAnAddress.test(path.split('/').at(-1) ?? '')),
    ...(await filesBelow(join(dir.state('pod-workers'), 'pods'))),
    ...(await attachments.keys()).map((key) => `attachment ${key}`),
    ...(await filesBelow(dir.podLogs)),
    // The sockets of device registration and of PodResources are the node's own.
    ...(await filesBelow(dir.pods)).filter((path) => !path.endsWith('/kubelet.sock')),
  ];
}

async function filesBelow(folder: string): Promise<string[]> {
  const entries = await readdir(folder, { withFileTypes: true, recursive: true }).catch(() => []);
  return entries.filter((entry) => !entry.isDirectory()).map(({ parentPath, name }) => join(parentPath, name));
}
