import { KubusError } from '@kubus/ports';
import { constants } from 'node:fs';
import { open, readlink, realpath } from 'node:fs/promises';
import { join } from 'node:path';

/**
 * Reads a file below a folder in which somebody else may change what he likes meanwhile: what is read lies in the folder,
 * wherever links lead.
 *
 * @param options.limit bytes that the file may have
 *
 * Rejects with an error of Node's when there is no such file; with a KubusError `not-within` or `not-readable` when it
 * lies elsewhere, is no regular file, or is too large.
 */
export async function readWithin(folder: string, path: string, options: { limit: number }): Promise<string> {
  const context = { folder, path };
  // A pipe would be waited for.
  const file = await open(join(folder, path), constants.O_RDONLY | constants.O_NONBLOCK);
  try {
    // Where the opened file lies, and not what its path leads to by now.
    const [opened, root] = await Promise.all([readlink(`/proc/self/fd/${file.fd}`), realpath(folder)]);
    if (!opened.startsWith(`${root}/`))
      throw new KubusError('not-within', `${path} leads out of ${folder}`, { context });
    const stats = await file.stat();
    if (!stats.isFile() || stats.size > options.limit) {
      const message = `${path} is no regular file of at most ${options.limit} bytes`;
      throw new KubusError('not-readable', message, { context });
    }
    return await file.readFile('utf8');
  } finally {
    await file.close();
  }
}
