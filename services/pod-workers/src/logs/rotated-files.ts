import { planRotation } from '@kubus/container-log';
import { createRegular, filesIn, openRegular } from '@kubus/filesystem';
import { hasErrno } from '@kubus/ports';
import { link, rename, rm, unlink } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { createGzip } from 'node:zlib';

export interface RotateOptions {
  /** How many files the log may have, itself included. */
  readonly maxFiles: number;
  /** Milliseconds since the Unix epoch. */
  readonly now: number;
  /** Makes the runtime write to a new file of the old name. */
  readonly reopen: () => Promise<unknown>;
}

/**
 * Renames a log that is being written and makes the runtime open a new file; then compresses the files of earlier rotations.
 * The file of this rotation stays uncompressed until the next one, because the runtime and readers may still use it. A
 * rotation that was interrupted at any point is completed by the next one.
 *
 * Throws the error of `reopen`; the log then has its old name again.
 */
export async function rotateLog(path: string, { maxFiles, now, reopen }: RotateOptions): Promise<void> {
  const folder = dirname(path);
  const plan = planRotation({ log: basename(path), files: await filesIn(folder), maxFiles, now });
  for (const file of plan.remove) await rm(join(folder, file), { force: true });
  const rotated = join(folder, plan.rotateTo);
  await rename(path, rotated);
  try {
    await reopen();
  } catch (error) {
    await putBack(rotated, path);
    throw error;
  }
  for (const file of plan.compress) await compress(join(folder, file));
}

/** Undoes the rename, unless the runtime has created the new file and only its answer was lost. */
async function putBack(rotated: string, path: string): Promise<void> {
  try {
    await link(rotated, path);
    await unlink(rotated);
  } catch (error) {
    if (!hasErrno(error, 'EEXIST', 'ENOENT')) throw error;
  }
}

/** Replaces a file by `<path>.gz`, which exists either completely or not at all. */
async function compress(path: string): Promise<void> {
  const unfinished = `${path}.tmp`;
  try {
    await rm(unfinished, { force: true });
    await writeCompressed(path, unfinished);
    await rename(unfinished, `${path}.gz`);
  } catch (error) {
    await rm(unfinished, { force: true });
    // The container's logs have been removed in the meantime.
    if (hasErrno(error, 'ENOENT')) return;
    throw error;
  }
  try {
    await unlink(path);
  } catch (error) {
    if (!hasErrno(error, 'ENOENT')) throw error;
    await rm(`${path}.gz`, { force: true });
  }
}

/** Compresses a file into a new one with its mode and times. */
async function writeCompressed(path: string, target: string): Promise<void> {
  const from = await openRegular(path);
  try {
    const { atime, mode, mtime } = await from.stat();
    const to = await createRegular(target, mode & 0o7777);
    try {
      await pipeline(from.createReadStream(), createGzip(), (pieces: AsyncIterable<Uint8Array>) =>
        to.writeFile(pieces),
      );
      await to.utimes(atime, mtime);
    } finally {
      await to.close();
    }
  } finally {
    await from.close();
  }
}
