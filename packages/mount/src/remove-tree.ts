import { rm } from 'node:fs/promises';
import { MountError } from './mount-programs.ts';
import { mountsBelow } from './mount-table.ts';

/**
 * Removes a folder and all that is in it; harmless when there is none. Refuses while anything is mounted at or below it,
 * also by somebody else: what is seen there is not the folder's own and must not be removed with it.
 *
 * @param path without symbolic links, as in the list of mounts
 *
 * Throws {@link MountError} that names the mount.
 */
export async function removeTree(path: string): Promise<void> {
  const [mounted] = await mountsBelow(path);
  if (mounted !== undefined) {
    const message = `${path} is not removed: ${mounted.target} is a mount (${mounted.type})`;
    throw new MountError('still-mounted', message, { context: { path, mount: mounted.target } });
  }
  await rm(path, { recursive: true, force: true });
}
