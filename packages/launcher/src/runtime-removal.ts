import { createHash } from 'node:crypto';
import { readFile, readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { removeCgroupRoot } from './cgroup-root.ts';
import { runCommand } from './command.ts';
import { removeTree, unmountAll } from './mounts.ts';
import type { NodeDir } from './node-dir.ts';
import { endProcesses, findProcesses } from './process-record.ts';

/** The containerd namespace of CRI. */
const namespace = 'k8s.io';
/** Where every shim listens, whatever the runtime's own folders (containerd 1.6 to 2.1). */
const shimSockets = '/run/containerd/s';
/** Where libcni, which is part of containerd, keeps the last result of each pod's networks. */
const cniResults = '/var/lib/cni/results';
const stopMs = 10_000;

/** The socket of the shim that holds a sandbox: named after containerd's address, the namespace and the sandbox. */
export function shimSocket(containerdSocket: string, sandboxId: string): string {
  return join(
    shimSockets,
    createHash('sha256')
      .update(join(containerdSocket, namespace, sandboxId))
      .digest('hex'),
  );
}

/**
 * Ends the node's containerd with every pod, and removes all that they have on the machine: processes, cgroups, mounts,
 * sockets, folders. Needs nothing that still works: pods that the runtime knows nothing of any more go too. CNI plugins
 * are not called; what pods have in the node's network namespace goes with it. Harmless to repeat.
 */
export async function removeRuntime(dir: NodeDir, runc = 'runc'): Promise<void> {
  const runtime = (await findProcesses(dir.root, dir.processes)).filter(({ what }) => what.startsWith('containerd'));
  await endProcesses(
    runtime.filter(({ what }) => what === 'containerd'),
    stopMs,
  );
  const ids = await podObjectIds(dir);
  // Containers first: those of a shim that is gone would be nobody's.
  await removeCgroupRoot(dir.cgroupRoot);
  await deleteContainers(dir, runc);
  await endProcesses(runtime, 0);
  await unmountAll(join(dir.containerd.config, '..'));
  await Promise.all(ids.map((id) => rm(shimSocket(dir.socket('containerd'), id), { force: true })));
  await removeCniResults(dir);
  await removeTree(dir.containerd.state);
  await removeTree(dir.containerd.root);
}

/** Ids of all sandboxes and containers that have left a trace in the runtime's folders. */
async function podObjectIds(dir: NodeDir): Promise<string[]> {
  const cri = 'io.containerd.grpc.v1.cri/sandboxes';
  const folders = [
    join(dir.containerd.state, 'io.containerd.runtime.v2.task', namespace),
    join(dir.containerd.state, cri),
    join(dir.containerd.root, cri),
  ];
  const lists = await Promise.all(folders.map(names));
  return [...new Set(lists.flat())];
}

/**
 * What runc still holds. Those in the node's cgroup have been killed; this ends the ones that were created without a
 * parent cgroup, and removes their cgroups.
 */
async function deleteContainers(dir: NodeDir, runc: string): Promise<void> {
  const root = join(dir.containerd.state, 'runc', namespace);
  for (const id of await names(root)) {
    await runCommand([runc, '--root', root, 'delete', '--force', id]);
  }
}

/**
 * By what stands in them: a result names the network namespace of its pod, which lies in the node's folders. The runtime
 * leaves some behind for sandboxes that it has forgotten (1.6.20: those whose second network failed).
 */
async function removeCniResults(dir: NodeDir): Promise<void> {
  for (const name of await names(cniResults)) {
    const file = join(cniResults, name);
    const content = await readFile(file, 'utf8').catch(() => '');
    if (content.includes(`${dir.containerd.state}/`)) {
      await rm(file, { force: true });
    }
  }
}

async function names(folder: string): Promise<string[]> {
  return readdir(folder).catch(() => []);
}
