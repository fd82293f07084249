import { Held, type TreeEntry, walkTree } from '@kubus/filesystem';
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
import type { VolumeEvent } from '../ports.ts';

/** How progress of a long change is reported. */
export interface OwnershipProgress {
  readonly clock: Clock;
  /** UID of the pod that waits. */
  readonly uid: string;
  /** Path at which the pod has the volume; default: `path`. */
  readonly shownAs?: string;
  /** Called with the message of a VolumePermissionChangeInProgress event. */
  readonly report: (message: string) => void;
}

/** What was done. */
export interface OwnershipResult {
  /** Number of files visited; 0 when the volume's root folder shows that nothing has to change. */
  readonly files: number;
  /** Why a file could not be changed: the first such error. The volume is used anyway, as in the kubelet. */
  readonly failure?: string;
}

/**
 * Changes the files of a volume to the pod's group (behaviour:volumes, fsGroup). Other processes may use the volume
 * meanwhile: no link is followed, nothing that is mounted inside is touched, and a file that vanishes is not an error.
 * The root folder is changed last, so that an interrupted change is started again under every policy. Rejects when a
 * folder cannot be read.
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
  let stopReporting = () => {};
  try {
    const file = owned(await root.stat());
    if (!ownershipNeeded(file, wanted)) return { files };
    stopReporting = reportPeriodically(progress, (isFirst) =>
      ownershipNews(shownAs, progress.uid, isFirst ? undefined : files),
    );
    if (file.kind === 'folder') await walkTree(root, { visit: change, mounted: () => {} });
    await change(undefined);
    return { files, ...(failure !== undefined && { failure }) };
  } finally {
    stopReporting();
    await root.close();
  }
}

/** A volume whose files are changed to a group, and where events about that go. */
export interface OwnedVolume extends Omit<OwnershipProgress, 'report'> {
  readonly logger: Logger;
  /** The name of the volume itself. */
  readonly specName: string;
  readonly report: (event: VolumeEvent) => void;
}

/** {@link applyOwnership}, with events for the pod's user; what could not be changed is logged. */
export async function giveToGroup(path: string, wanted: VolumeOwnership, volume: OwnedVolume): Promise<void> {
  const { logger, specName, report, ...progress } = volume;
  const { failure } = await applyOwnership(path, wanted, {
    ...progress,
    report: (message) => report({ reason: 'VolumePermissionChangeInProgress', message }),
  });
  if (failure === undefined) return;
  logger.warn({ podUid: volume.uid, volume: specName, failure }, 'cannot change the group of every file');
}

async function changeEntry({ folder, name, held }: TreeEntry, wanted: VolumeOwnership): Promise<void> {
  if (held !== undefined) return changeHeld(held, wanted);
  // Most files of a used volume are correct already: those cost one call.
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
  // Without a mode it is a link, which has replaced the file since it was read.
  if (difference?.mode === undefined) return;
  await chown(file.path, -1, difference.gid);
  // After chown, which clears mode bits.
  await chmod(file.path, difference.mode);
}

function owned(stats: Stats): OwnedFile {
  const kind = stats.isDirectory() ? 'folder' : stats.isSymbolicLink() ? 'link' : 'file';
  return { kind, gid: stats.gid, mode: stats.mode & 0o7777 };
}

function reportPeriodically({ clock, report }: OwnershipProgress, message: (isFirst: boolean) => string): () => void {
  const next = (isFirst: boolean) => {
    report(message(isFirst));
    cancel = clock.after(OWNERSHIP_NEWS_MS.then, () => next(false));
  };
  let cancel = clock.after(OWNERSHIP_NEWS_MS.first, () => next(true));
  return () => cancel();
}
