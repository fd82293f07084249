import { Held, type TreeEntry, walkTree } from '@kubus/mount';
import { type Clock, type Logger, hasErrno, toError } from '@kubus/ports';
import {
  OWNERSHIP_NEWS_MS,
  type OwnedFile,
  type VolumeOwnership,
  ownershipChange,
  ownershipNeeded,
  ownershipNews,
} from '@kubus/volume';
import type { Stats } from 'node:fs';
import { chmod, chown, lchown, lstat } from 'node:fs/promises';
import type { VolumeNews } from './ports.ts';

/** Who hears that it takes long. */
export interface OwnershipProgress {
  readonly clock: Clock;
  /** UID of the pod that waits. */
  readonly uid: string;
  /** Where that pod will find the volume, where it is not at `path` itself. */
  readonly shownAs?: string;
  /** Called with the message of an event VolumePermissionChangeInProgress. */
  readonly tell: (message: string) => void;
}

/** What was done. */
export interface OwnershipResult {
  /** Files that have been looked at; 0 when the volume's own folder says that all is as it should be. */
  readonly files: number;
  /** Why a file could not be changed, of the first such one. The volume is used nevertheless, as the kubelet does. */
  readonly failure?: string;
}

/**
 * Gives the files of a volume to the pod's group (kubelet behaviour 1.13, fsGroup). Others may use the volume meanwhile:
 * no link is followed, nothing that is mounted in it is touched, and what vanishes is no error. The volume's own folder is
 * changed last, so that one that was cut short is begun again under every policy.
 *
 * Rejects when a folder can not be read.
 */
export async function applyOwnership(
  path: string,
  wanted: VolumeOwnership,
  progress: OwnershipProgress,
): Promise<OwnershipResult> {
  const root = await Held.open(path);
  const { shownAs = path } = progress;
  let files = 0;
  let failure: string | undefined;
  const change = async (entry: TreeEntry | undefined) => {
    files += 1;
    try {
      await (entry === undefined ? changeHeld(root, wanted) : changeEntry(entry, wanted));
    } catch (error) {
      if (!hasErrno(error, 'ENOENT')) failure ??= toError(error).message;
    }
  };
  let stopTelling = () => {};
  try {
    const file = owned(await root.stat());
    if (!ownershipNeeded(file, wanted)) return { files };
    stopTelling = tellAtTimes(progress, (isFirst) => ownershipNews(shownAs, progress.uid, isFirst ? undefined : files));
    if (file.kind === 'folder') await walkTree(root, { visit: change, mounted: () => {} });
    await change(undefined);
    return { files, ...(failure !== undefined && { failure }) };
  } finally {
    stopTelling();
    await root.close();
  }
}

/** Whose volume gets its group, and who hears of it. */
export interface OwnedVolume extends Omit<OwnershipProgress, 'tell'> {
  readonly logger: Logger;
  /** The name of the volume itself. */
  readonly specName: string;
  readonly tell: (news: VolumeNews) => void;
}

/** {@link applyOwnership}, with the news of it for the pod's user; what could not be changed is logged. */
export async function giveToGroup(path: string, wanted: VolumeOwnership, volume: OwnedVolume): Promise<void> {
  const { logger, specName, tell, ...progress } = volume;
  const { failure } = await applyOwnership(path, wanted, {
    ...progress,
    tell: (message) => tell({ reason: 'VolumePermissionChangeInProgress', message }),
  });
  if (failure === undefined) return;
  logger.warn({ podUid: volume.uid, volume: specName, failure }, 'not every file got its group');
}

async function changeEntry({ folder, name, held }: TreeEntry, wanted: VolumeOwnership): Promise<void> {
  if (held !== undefined) return changeHeld(held, wanted);
  // Most files of a volume that was used before are as they should be: those cost one call.
  const stats = await lstat(folder.at(name));
  const difference = ownershipChange(owned(stats), wanted);
  if (difference === undefined) return;
  if (difference.mode === undefined) return lchown(folder.at(name), -1, difference.gid);
  const file = await Held.open(folder.at(name));
  try {
    if (file.mount === folder.mount) await changeHeld(file, wanted);
  } finally {
    await file.close();
  }
}

async function changeHeld(file: Held, wanted: VolumeOwnership): Promise<void> {
  const difference = ownershipChange(owned(await file.stat()), wanted);
  // Without a mode it is a link, which can only have come here since it was looked at.
  if (difference?.mode === undefined) return;
  await chown(file.path, -1, difference.gid);
  // After the owner, whose change takes bits away.
  await chmod(file.path, difference.mode);
}

function owned(stats: Stats): OwnedFile {
  const kind = stats.isDirectory() ? 'folder' : stats.isSymbolicLink() ? 'link' : 'file';
  return { kind, gid: stats.gid, mode: stats.mode & 0o7777 };
}

function tellAtTimes({ clock, tell }: OwnershipProgress, message: (isFirst: boolean) => string): () => void {
  const next = (isFirst: boolean) => {
    tell(message(isFirst));
    cancel = clock.after(OWNERSHIP_NEWS_MS.then, () => next(false));
  };
  let cancel = clock.after(OWNERSHIP_NEWS_MS.first, () => next(true));
  return () => cancel();
}
