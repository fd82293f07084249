import { createHash } from 'node:crypto';
import { open, readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { namesIn, removeTree, unmountBelow } from '@kubus/filesystem';
import { ignoring } from '@kubus/ports';
import { removeCgroupRoot } from './cgroup-root.ts';
import { runCommand } from '../processes/command.ts';
import type { NodeDir } from '../node/node-dir.ts';
import { endProcesses, findProcesses } from '../processes/process-record.ts';

/** The containerd namespace of CRI. */
const namespace = 'k8s.io';
/** Where every shim listens, whatever the runtime's own folders (containerd 1.6 to 2.1). */
const shimSockets = '/run/containerd/s';
/** Where libcni, which is part of containerd, keeps the last result of each pod's networks. */
const cniResults = '/var/lib/cni/results';
/** Grace period of containerd, in milliseconds. */
const stopMs = 10_000;

/** The socket of a sandbox's shim: its name is a digest of containerd's address, the containerd namespace and the sandbox. */
export function shimSocket(containerdSocket: string, sandboxId: string): string {
  return join(
    shimSockets,
    createHash('sha256')
      .update(join(containerdSocket, namespace, sandboxId))
      .digest('hex'),
  );
}

/**
 * Ends the node's containerd with every pod and removes everything they have on the machine: processes, cgroups, mounts, sockets, folders.
 * Works without a functioning runtime, and also removes pods that the runtime has forgotten. CNI plugins are not called: the pods'
 * interfaces are removed with the node's network namespace. Harmless to repeat.
 */
export async function removeRuntime(dir: NodeDir, runc = 'runc'): Promise<void> {
  const runtime = (await findProcesses(dir.root, dir.processes)).filter(({ what }) => what.startsWith('containerd'));
  await endProcesses(
    runtime.filter(({ what }) => what === 'containerd'),
    stopMs,
  );
  const ids = await podObjectIds(dir);
  // Containers first: without its shim a container cannot be found any more.
  await removeCgroupRoot(dir.cgroupRoot);
  await deleteContainers(dir, runc);
  await endProcesses(runtime, 0);
  await unmountBelow(join(dir.containerd.config, '..'));
  await Promise.all(ids.map((id) => rm(shimSocket(dir.socket('containerd'), id), { force: true })));
  await removeCniResults(dir);
  await removeTree(dir.containerd.state);
  await removeTree(dir.containerd.root);
}

/**
 * Ids of all sandboxes and containers found in the runtime's folders, and of all that its log names: a containerd that was killed
 * during a removal forgets the sandbox when it starts again, and leaves its shim's socket.
 */
async function podObjectIds(dir: NodeDir): Promise<string[]> {
  const cri = 'io.containerd.grpc.v1.cri/sandboxes';
  const folders = [
    join(dir.containerd.state, 'io.containerd.runtime.v2.task', namespace),
    join(dir.containerd.state, cri),
    join(dir.containerd.root, cri),
  ];
  const { log } = dir.containerd;
  const lists = await Promise.all([...folders.map(namesIn), ...[log, `${log}.1`].map(idsInLog)]);
  return [...new Set(lists.flat())];
}

/** Every sandbox and container id that a log names; none when there is no log. */
async function idsInLog(file: string): Promise<string[]> {
  const ids = new Set<string>();
  const log = await ignoring('ENOENT', open(file));
  if (log === undefined) return [];
  // Read to its end, the file is closed.
  for await (const line of log.readLines()) for (const [id] of line.matchAll(/\b[0-9a-f]{64}\b/g)) ids.add(id);
  return [...ids];
}

/**
 * Deletes the containers that runc still has. Those in the node's cgroup have been killed; this kills those created without a parent
 * cgroup, and removes their cgroups.
 */
async function deleteContainers(dir: NodeDir, runc: string): Promise<void> {
  const root = join(dir.containerd.state, 'runc', namespace);
  for (const id of await namesIn(root)) {
    await runCommand([runc, '--root', root, 'delete', '--force', id]);
  }
}

/**
 * Removes the node's CNI results, found by their content: a result contains the path of its pod's network namespace, which is in the node's
 * folders. containerd leaves some behind (1.6.20: for sandboxes whose second network failed).
 */
async function removeCniResults(dir: NodeDir): Promise<void> {
  for (const name of await namesIn(cniResults)) {
    const file = join(cniResults, name);
    const content = await readFile(file, 'utf8').catch(() => '');
    if (content.includes(`${dir.containerd.state}/`)) {
      await rm(file, { force: true });
    }
  }
}
