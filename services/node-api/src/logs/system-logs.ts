import { type Held, holdWithin, openHeld } from '@kubus/filesystem';
import { KubusError, hasErrno } from '@kubus/ports';
import { type FileHandle, readdir } from 'node:fs/promises';

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
    const held = await holdWithin(root, path);
    try {
      return await opened(held, path);
    } finally {
      await held.close();
    }
  } catch (error) {
    if (error instanceof KubusError && error.code === 'not-within') return undefined;
    if (hasErrno(error, 'ENOENT', 'ENOTDIR', 'ELOOP', 'ENAMETOOLONG')) return undefined;
    throw error;
  }
}

async function opened(held: Held, path: string): Promise<SystemLog | undefined> {
  const info = await held.stat();
  if (info.isFile()) return { file: await openHeld(held, path), bytes: info.size };
  if (!info.isDirectory()) return undefined;
  const entries = await readdir(held.path, { withFileTypes: true });
  const names = entries.map((entry) => (entry.isDirectory() ? `${entry.name}/` : entry.name));
  return { entries: names.sort() };
}
