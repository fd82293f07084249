import { Held } from '@kubus/filesystem';
import { type FolderStep, type VolumeStep, stepPath } from '@kubus/volume';
import { readdir, lstat, statfs } from 'node:fs/promises';
import { join } from 'node:path';
import { csiStats } from '../csi/csi-stats.ts';
import type { CsiVolumes } from '../csi/csi-volumes.ts';
import { diskUsage } from './disk-usage.ts';
import type { ProjectQuotas } from '../host/project-quotas.ts';
import { type VolumeUsage, fileSystemStats } from './file-system-stats.ts';

/** Folders with more entries than this are measured by du(1), not here. */
const ENTRIES = 200;

/** Size of the blocks in which the kernel counts disk usage, in bytes. */
const BLOCK = 512;

/**
 * Capacity and usage of a volume. A folder on the node's disk has the capacity of its file system and the usage of its
 * content. Undefined when they cannot be read, and for the host's own files (behaviour:qos-and-cgroups, volume stats).
 */
export async function volumeUsage(
  step: VolumeStep,
  csi: Pick<CsiVolumes, 'stats'>,
  quotas?: Pick<ProjectQuotas, 'usage'>,
): Promise<VolumeUsage | undefined> {
  if (step.kind === 'host' || step.kind === 'localDevice') return undefined;
  if (step.kind === 'csi') return csiStats(csi, step.path);
  const folder = step.kind === 'content' ? step.folder : step;
  if (folder.kind === 'memory') return fileSystem(folder.path);
  if (folder.kind === 'folder') return folderUsage(folder, quotas);
  return fileSystemStats(stepPath(step));
}

/** Of a file system that always answers: no server is asked. */
async function fileSystem(path: string): Promise<VolumeUsage> {
  const { bsize, blocks, bfree, bavail, files, ffree } = await statfs(path);
  return {
    ...{ capacityBytes: blocks * bsize, availableBytes: bavail * bsize, usedBytes: (blocks - bfree) * bsize },
    ...{ inodes: files, inodesFree: ffree, inodesUsed: files - ffree },
  };
}

async function folderUsage(
  { path, quota }: FolderStep,
  quotas?: Pick<ProjectQuotas, 'usage'>,
): Promise<VolumeUsage | undefined> {
  const counted = quota && (await quotas?.usage(path));
  const found = counted && { usedBytes: counted.bytes, inodesUsed: counted.files };
  const [fs, used] = await Promise.all([fileSystem(path), found ?? usedIn(path)]);
  return used && { ...fs, ...used };
}

type Used = Pick<VolumeUsage, 'usedBytes' | 'inodesUsed'>;

async function usedIn(path: string): Promise<Used | undefined> {
  const few = await walk(path);
  if (few !== undefined) return few;
  const [bytes, files] = [await diskUsage(path), await diskUsage(path, 'inodes')];
  return bytes === undefined || files === undefined
    ? undefined
    : { usedBytes: Number(bytes), inodesUsed: Number(files) };
}

/** Usage of a small folder with everything in it, each file once; undefined when it is not small. */
async function walk(root: string): Promise<Used | undefined> {
  const seen = new Set<number>();
  let usedBytes = 0;
  const waiting = [root];
  for (let path = waiting.pop(); path !== undefined; path = waiting.pop()) {
    // A file that vanishes meanwhile is not counted.
    const stat = await lstat(path).catch(() => undefined);
    if (stat === undefined || seen.has(stat.ino)) continue;
    seen.add(stat.ino);
    usedBytes += stat.blocks * BLOCK;
    if (!stat.isDirectory()) continue;
    const below = path;
    const names = await namesBelow(below).catch(() => []);
    if (seen.size + waiting.length + names.length > ENTRIES) return undefined;
    waiting.push(...names.map((name) => join(below, name)));
  }
  return { usedBytes, inodesUsed: seen.size };
}

/** Not through a link that a container has put in the folder's place. */
async function namesBelow(path: string): Promise<string[]> {
  const folder = await Held.open(path, { folder: true });
  try {
    return await readdir(folder.path);
  } finally {
    await folder.close();
  }
}
