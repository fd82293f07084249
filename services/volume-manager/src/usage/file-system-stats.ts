import { runProgram } from '@kubus/filesystem';

/** Capacity and usage of a file system: bytes and inodes. */
export interface VolumeUsage {
  readonly capacityBytes: number;
  readonly availableBytes: number;
  readonly usedBytes: number;
  readonly inodes: number;
  readonly inodesFree: number;
  readonly inodesUsed: number;
}

/** How long a file system may take to answer, in milliseconds. */
const LIMIT_MS = 5_000;

/**
 * Capacity and usage of the file system at a path (statfs(2)); undefined when they cannot be read. stat(1) reads them:
 * a server that does not answer must not block this process.
 */
export async function fileSystemStats(path: string): Promise<VolumeUsage | undefined> {
  const command = ['stat', '--file-system', '--format=%S %b %f %a %c %d', '--', path];
  const { code, stdout } = await runProgram(command, LIMIT_MS);
  if (code !== 0) return undefined;
  const [size = 0, blocks = 0, free = 0, available = 0, inodes = 0, inodesFree = 0] = stdout.split(' ').map(Number);
  return {
    capacityBytes: blocks * size,
    availableBytes: available * size,
    usedBytes: (blocks - free) * size,
    inodes,
    inodesFree,
    inodesUsed: inodes - inodesFree,
  };
}
