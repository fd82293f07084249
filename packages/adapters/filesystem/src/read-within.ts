import { KubusError } from '@kubus/ports';
import { constants } from 'node:fs';
import { open, readlink, realpath } from 'node:fs/promises';
import { join } from 'node:path';

/**
 * Reads a file below a folder that others may change meanwhile: the file is always inside the folder,
 * wherever links point.
 *
 * @param options.limit maximum size of the file in bytes
 *
 * Rejects with an error of Node.js when the file does not exist; with a KubusError `not-within` or `not-readable`
 * when it is outside, is not a regular file, or is too large.
 */
export async function readWithin(folder: string, path: string, options: { limit: number }): Promise<string> {
  const context = { folder, path };
  // Opening a pipe would block.
  const file = await open(join(folder, path), constants.O_RDONLY | constants.O_NONBLOCK);
  try {
    // The location of the opened file, not the current target of its path.
    const [opened, root] = await Promise.all([readlink(`/proc/self/fd/${file.fd}`), realpath(folder)]);
    if (!opened.startsWith(`${root}/`))
      throw new KubusError('not-within', `${path} is outside of ${folder}`, { context });
    const stats = await file.stat();
    if (!stats.isFile() || stats.size > options.limit) {
      const message = `${path} is not a regular file of at most ${options.limit} bytes`;
      throw new KubusError('not-readable', message, { context });
    }
    return await file.readFile('utf8');
  } finally {
    await file.close();
  }
}
