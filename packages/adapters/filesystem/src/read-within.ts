import { KubusError } from '@kubus/ports';
import { realpath } from 'node:fs/promises';
import { join } from 'node:path';
import { Held } from './held.ts';
import { openHeld } from './open-regular.ts';

/**
 * Opens a location below a folder that others may change meanwhile: what is open is inside the folder, or the folder itself,
 * wherever links point.
 *
 * Rejects with an error of Node.js when it does not exist; with a KubusError `not-within` when it is outside.
 */
export async function holdWithin(folder: string, path: string): Promise<Held> {
  const root = await realpath(folder);
  const held = await Held.open(await realpath(join(folder, path)));
  try {
    // Where it is now, not where the path led to before.
    const place = await held.place();
    if (place === root || place.startsWith(`${root}/`)) return held;
    throw new KubusError('not-within', `${path} is outside of ${folder}`, { context: { folder, path } });
  } catch (error) {
    await held.close();
    throw error;
  }
}

/**
 * Reads a file below a folder that others may change meanwhile, as {@link holdWithin}.
 *
 * @param options.limit maximum size of the file in bytes
 *
 * Rejects also with a KubusError `not-readable` when it is not a regular file, or is too large.
 */
export async function readWithin(folder: string, path: string, options: { limit: number }): Promise<string> {
  const held = await holdWithin(folder, path);
  try {
    const stats = await held.stat();
    if (!stats.isFile() || stats.size > options.limit) {
      const message = `${path} is not a regular file of at most ${options.limit} bytes`;
      throw new KubusError('not-readable', message, { context: { folder, path } });
    }
    const file = await openHeld(held, path);
    try {
      const { buffer, bytesRead } = await file.read(Buffer.alloc(stats.size), 0, stats.size, 0);
      return buffer.toString('utf8', 0, bytesRead);
    } finally {
      await file.close();
    }
  } finally {
    await held.close();
  }
}
