import { hasErrno } from '@kubus/ports';
import { constants } from 'node:fs';
import { type FileHandle, open, readdir, readlink, realpath } from 'node:fs/promises';
import { join, sep } from 'node:path';

/** The entries of a folder, subfolders with a trailing `/`; or an open file, which the caller closes. */
export type SystemLog = { readonly entries: readonly string[] } | { readonly file: FileHandle; readonly bytes: number };

/**
 * Finds a file or a folder below `root`. A path that leads outside, also through a link, is not found, and neither is
 * anything but a regular file: reading a pipe would block.
 *
 * @param path relative, with `/`
 */
export async function openSystemLog(root: string, path: string): Promise<SystemLog | undefined> {
  if (path.includes('\0')) return undefined;
  try {
    const base = await realpath(root);
    const real = await realpath(join(base, path));
    if (!isWithin(base, real)) return undefined;
    // The path may point to something else since the check: the open file is what counts.
    const file = await open(real, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
    const served = await opened(base, file).catch(async (error: unknown) => {
      await file.close();
      throw error;
    });
    if (served === undefined || 'entries' in served) await file.close();
    return served;
  } catch (error) {
    if (['ENOENT', 'ENOTDIR', 'ELOOP', 'ENAMETOOLONG', 'ENXIO'].some((code) => hasErrno(error, code))) return undefined;
    throw error;
  }
}

async function opened(base: string, file: FileHandle): Promise<SystemLog | undefined> {
  const own = `/proc/self/fd/${file.fd}`;
  if (!isWithin(base, await readlink(own))) return undefined;
  const info = await file.stat();
  if (info.isFile()) return { file, bytes: info.size };
  if (!info.isDirectory()) return undefined;
  const entries = await readdir(own, { withFileTypes: true });
  const names = entries.map((entry) => (entry.isDirectory() ? `${entry.name}/` : entry.name));
  return { entries: names.sort() };
}

function isWithin(base: string, path: string): boolean {
  return path === base || path.startsWith(`${base}${sep}`);
}
