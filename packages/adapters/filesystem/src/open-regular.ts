// The one way to open a file whose path a container can influence; lint refuses the functions of node:fs for it.
import { KubusError, hasErrno } from '@kubus/ports';
import { constants } from 'node:fs';
import { type FileHandle, open, rename, rm } from 'node:fs/promises';
import { dirname } from 'node:path';
import { Held } from './held.ts';

/** Thrown when a path that a container can influence is anything but a regular file: a link, a pipe, a device, a folder. */
export class NotRegular extends KubusError {
  constructor(path: string) {
    super('not-regular', `${path} is not a regular file`, { context: { path } });
  }
}

/**
 * Opens a regular file for reading. Follows no link in the last part of the path, does not wait for the other end of a pipe, and
 * does nothing to a device: what the path names is checked before it is opened, and cannot be exchanged in between.
 *
 * Rejects with {@link NotRegular}, or with the error of Node.js, such as ENOENT.
 */
export async function openRegular(path: string): Promise<FileHandle> {
  const held = await Held.open(path);
  try {
    return await openHeld(held, path);
  } finally {
    await held.close();
  }
}

/** As {@link openRegular}, for an open location; `path` is for the message. */
export async function openHeld(held: Held, path: string): Promise<FileHandle> {
  if (!(await held.stat()).isFile()) throw new NotRegular(path);
  return open(held.path, constants.O_RDONLY | constants.O_NONBLOCK);
}

/**
 * Creates a regular file for writing, with this mode whatever the umask is. Rejects with EEXIST when anything has its name, also
 * a link to nothing.
 */
export async function createRegular(path: string, mode: number): Promise<FileHandle> {
  const file = await open(path, 'wx', mode);
  try {
    await file.chmod(mode);
    return file;
  } catch (error) {
    await file.close();
    throw error;
  }
}

/**
 * Replaces a file, or anything else of its name but a folder, so that readers see the old content or the new one.
 *
 * @param options `durable`: resolves when it is on the disk, also if the machine then loses its power. Default: false.
 */
export async function replaceRegular(
  path: string,
  content: string,
  mode: number,
  options: { readonly durable?: boolean } = {},
): Promise<void> {
  const part = `${path}.part`;
  await rm(part, { force: true });
  const file = await createRegular(part, mode);
  try {
    await file.writeFile(content);
    if (options.durable === true) await file.sync();
  } finally {
    await file.close();
  }
  await rename(part, path);
  if (options.durable !== true) return;
  const folder = await open(dirname(path));
  try {
    await folder.sync();
  } finally {
    await folder.close();
  }
}

/**
 * At most `limit` bytes of a regular file: its first ones, or its last ones. Undefined when there is none.
 *
 * Rejects as {@link openRegular}.
 */
export async function readRegular(
  path: string,
  { limit, end = 'first' }: { limit: number; end?: 'first' | 'last' },
): Promise<Buffer | undefined> {
  let file;
  try {
    file = await openRegular(path);
  } catch (error) {
    if (hasErrno(error, 'ENOENT')) return undefined;
    throw error;
  }
  try {
    const { size } = await file.stat();
    const buffer = Buffer.alloc(Math.min(size, limit));
    const { bytesRead } = await file.read(buffer, 0, buffer.length, end === 'first' ? 0 : size - buffer.length);
    return buffer.subarray(0, bytesRead);
  } finally {
    await file.close();
  }
}
