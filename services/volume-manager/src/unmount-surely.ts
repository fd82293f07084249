import { MountError, listMounts, unmount } from '@kubus/mount';
import type { Logger } from '@kubus/ports';

export interface UnmountOptions {
  readonly logger: Logger;
  /** Milliseconds that each try may take. */
  readonly unmountMs?: number;
}

/**
 * Undoes the last mount at the path. One that hangs, since its server does not answer, is made to give up (umount(8), -f),
 * and when that does not help it is taken away at once and ends with its last user (-l). Throws MountError, also when it is
 * in use.
 */
export async function unmountSurely(target: string, { logger, unmountMs }: UnmountOptions): Promise<void> {
  const limit = unmountMs === undefined ? {} : { limitMs: unmountMs };
  const before = await countAt(target);
  const isUndone = async () => (await countAt(target)) < before;
  if ((await tried(() => unmount(target, limit))) || (await isUndone())) return;
  logger.warn({ target }, 'a mount hangs when it is undone: it is made to give up');
  // What it says counts for nothing: the list of mounts tells whether it has helped.
  await unmount(target, { ...limit, how: 'force' }).catch((err: unknown) => {
    logger.warn({ target, err }, 'a mount that hangs can not be made to give up');
  });
  if (await isUndone()) return;
  logger.warn({ target }, 'a mount that hangs is taken out of sight; it ends with its last user');
  await unmount(target, { ...limit, how: 'lazy' });
}

/** False for what has taken too long. */
async function tried(action: () => Promise<void>): Promise<boolean> {
  try {
    await action();
    return true;
  } catch (error) {
    if (error instanceof MountError && error.code === 'timed-out') return false;
    throw error;
  }
}

async function countAt(path: string): Promise<number> {
  return (await listMounts()).filter(({ target }) => target === path).length;
}
