import { runCommand } from '@kubus/launcher';
import { rmSync, statfsSync } from 'node:fs';
import { mkdir, open, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** The size of a small disk. */
export interface DiskSize {
  readonly mebibytes: number;
  /** Files and folders that it can have. Default: what mkfs.ext4 makes of the size. */
  readonly inodes?: number;
}

const MEBIBYTE = 1024 * 1024;

/** Mounts an ext4 file system of its own there: a disk that can be filled without harm. It goes with its last mount. */
export async function mountSmallDisk(path: string, { mebibytes, inodes }: DiskSize): Promise<void> {
  const image = join(tmpdir(), `kubus-small-disk-${process.pid}-${crypto.randomUUID()}`);
  const file = await open(image, 'wx');
  try {
    await file.truncate(mebibytes * MEBIBYTE);
    const count = inodes === undefined ? [] : ['-N', String(inodes)];
    // No block is kept for root alone, so that statfs(2) says the same to everybody.
    await runCommand(['mkfs.ext4', '-q', '-F', '-m', '0', '-O', '^has_journal', ...count, image]);
    await mkdir(path, { recursive: true });
    await runCommand(['mount', '-o', 'loop', image, path]);
  } finally {
    await file.close();
    await rm(image);
  }
}

/** How many bytes and inodes the file system of a folder has left, for everybody. */
export function leftOn(folder: string): { readonly bytes: number; readonly inodes: number } {
  const { bavail, bsize, ffree } = statfsSync(folder);
  return { bytes: bavail * bsize, inodes: ffree };
}

/** Takes all but so much of the disk of a folder, at once. Returns what gives it back. */
export async function takeAllBut(bytes: number, folder: string): Promise<() => void> {
  const filler = join(folder, 'filler');
  await runCommand(['fallocate', '-l', String(leftOn(folder).bytes - bytes), filler]);
  return () => rmSync(filler);
}
