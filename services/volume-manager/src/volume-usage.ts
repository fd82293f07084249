import { type VolumeStep, stepPath } from '@kubus/volume';
import { readdir, lstat, statfs } from 'node:fs/promises';
import { join } from 'node:path';
import { csiStats } from './csi/csi-stats.ts';
import type { CsiVolumes } from './csi/csi-volumes.ts';
import { diskUsage } from './disk-usage.ts';
import { type VolumeUsage, fileSystemStats } from './file-system-stats.ts';

/** Entries of a folder that are looked at here; of a folder with more, du(1) tells what is in it. */
const ENTRIES = 200;

/** Size of the blocks in which the kernel counts what a file takes. */
const BLOCK = 512;

/**
 * What a volume has and what of it is used. A folder on the node's disk has what its file system has, and uses what is in it. Undefined
 * where that can not be told, and for what is the host's own (kubelet behaviour 1.20, volume stats).
 */
export async function volumeUsage(step: VolumeStep, csi: Pick<CsiVolumes, 'stats'>): Promise<VolumeUsage | undefined> {
  if (step.kind === 'host' || step.kind === 'localDevice') return undefined;
  if (step.kind === 'csi') return csiStats(csi, step.path);
  const folder = step.kind === 'content' ? step.folder : step;
  if (folder.kind === 'memory') return memoryUsage(folder.path);
  if (folder.kind === 'folder') return folderUsage(folder.path);
  return fileSystemStats(stepPath(step));
}

/** A file system in memory always answers: there is nobody else to ask. */
async function memoryUsage(path: string): Promise<VolumeUsage> {
  const { bsize, blocks, bfree, bavail, files, ffree } = await statfs(path);
  return {
    ...{ capacityBytes: blocks * bsize, availableBytes: bavail * bsize, usedBytes: (blocks - bfree) * bsize },
    ...{ inodes: files, inodesFree: ffree, inodesUsed: files - ffree },
  };
}

async function folderUsage(path: string): Promise<VolumeUsage | undefined> {
  const [fs, used] = await Promise.all([memoryUsage(path), usedIn(path)]);
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

/** What a small folder has in it and takes itself, each file once; undefined when it is not small. */
async function walk(root: string): Promise<Used | undefined> {
  const seen = new Set<number>();
  let usedBytes = 0;
  const waiting = [root];
  for (let path = waiting.pop(); path !== undefined; path = waiting.pop()) {
    // What vanishes meanwhile counts for nothing.
    const stat = await lstat(path).catch(() => undefined);
    if (stat === undefined || seen.has(stat.ino)) continue;
    seen.add(stat.ino);
    usedBytes += stat.blocks * BLOCK;
    if (!stat.isDirectory()) continue;
    const below = path;
    const names = await readdir(below).catch(() => []);
    if (seen.size + waiting.length + names.length > ENTRIES) return undefined;
    waiting.push(...names.map((name) => join(below, name)));
  }
  return { usedBytes, inodesUsed: seen.size };
}
