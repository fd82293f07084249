import { randomBytes } from 'node:crypto';
import { mkdir, readdir } from 'node:fs/promises';
import { type Server, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { removeTree, unmountBelow } from '@kubus/filesystem';
import { type NodeDir, nodeDir, recordOf, removeNode } from '@kubus/launcher';

/** `kubus-test-<pid>-<start time>-<random>`: the name identifies the test process that owns the folder. */
const folderName = /^kubus-test-(?<pid>\d+)-(?<startTime>\d+)-[0-9a-f]+$/;

/** A folder of this process for one test, in the machine's folder for temporary files. */
export async function makeTestFolder(): Promise<string> {
  const self = await recordOf(process.pid, 'test');
  const name = `kubus-test-${process.pid}-${self?.startTime ?? 0}-${randomBytes(3).toString('hex')}`;
  const folder = join(tmpdir(), name);
  await mkdir(folder, { mode: 0o711 });
  return folder;
}

/** The node in a test folder. Its cgroup is named after the folder, and so unique. */
export function testNode(folder: string): NodeDir {
  const random = folder.slice(folder.lastIndexOf('-') + 1);
  return nodeDir(`test-${random}`, { base: join(folder, 'lib'), runBase: join(folder, 'run') });
}

/** Removes the folder and the node in it, in any state. Idempotent. */
export async function removeTestFolder(folder: string, runc?: string): Promise<void> {
  await removeNode(testNode(folder), runc);
  await unmountBelow(folder);
  await removeTree(folder);
}

/**
 * Removes the folders, and the nodes in them, of test processes that have ended without doing so. Returns the folders;
 * an empty list while another process sweeps.
 */
export async function sweepTestFolders(where = tmpdir()): Promise<string[]> {
  const lock = await takeSweepLock(where);
  if (!lock) {
    return [];
  }
  try {
    const folders = await abandonedFolders(where);
    await Promise.all(folders.map((folder) => removeTestFolder(folder)));
    return folders;
  } finally {
    lock.close();
  }
}

async function abandonedFolders(where: string): Promise<string[]> {
  const names = await readdir(where);
  const abandoned = names.map(async (name) => {
    const { pid, startTime } = folderName.exec(name)?.groups ?? {};
    const owner = pid === undefined ? undefined : await recordOf(Number(pid), 'test');
    return pid !== undefined && owner?.startTime !== Number(startTime) ? [join(where, name)] : [];
  });
  return (await Promise.all(abandoned)).flat();
}

/** An address in the abstract namespace of unix sockets can be bound once, and the kernel frees it with its process. */
async function takeSweepLock(where: string): Promise<Server | undefined> {
  const lock = createServer();
  return new Promise((resolve, reject) => {
    lock.once('error', (error: NodeJS.ErrnoException) => {
      if (error.code === 'EADDRINUSE') {
        resolve(undefined);
      } else {
        reject(error);
      }
    });
    lock.listen(`\0kubus-test-sweep ${where}`, () => resolve(lock));
  });
}
