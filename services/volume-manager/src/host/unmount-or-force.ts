import { MountError, listMounts, unmount } from '@kubus/filesystem';
import type { Logger } from '@kubus/ports';

export interface UnmountOptions {
  readonly logger: Logger;
  /** Limit of each attempt, in milliseconds; default: none. */
  readonly unmountMs?: number;
}

/**
 * Undoes the last mount at the path. One that hangs because its server does not answer is forced (umount(8), -f); when
 * that does not help, it is detached at once and ends with its last user (-l). Throws MountError, also when it is in
 * use.
 */
export async function unmountOrForce(target: string, { logger, unmountMs }: UnmountOptions): Promise<void> {
  const limit = unmountMs === undefined ? {} : { limitMs: unmountMs };
  const before = await countAt(target);
  const isUndone = async () => (await countAt(target)) < before;
  if ((await tried(() => unmount(target, limit))) || (await isUndone())) return;
  logger.warn({ target }, 'unmount hung; forcing');
  // Its result does not matter: the mount table shows whether it helped.
  await unmount(target, { ...limit, how: 'force' }).catch((err: unknown) => {
    logger.warn({ target, err }, 'forced unmount failed');
  });
  if (await isUndone()) return;
  logger.warn({ target }, 'mount still hangs; detaching it until its last user ends');
  await unmount(target, { ...limit, how: 'lazy' });
}

/** False when it took too long. */
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
