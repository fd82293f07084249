/** The group of a volume's files, and its permissions. */
export interface VolumeOwnership {
  /** The pod's fsGroup. */
  readonly gid: number;
  /** The group may only read. */
  readonly readOnly: boolean;
  /** `OnRootMismatch`: nothing is done if the volume's own folder is correct. Any other value: as `Always`. */
  readonly policy?: string;
}

/** The attributes of a file on which its ownership depends. `mode`: all permission bits (07777). */
export interface OwnedFile {
  readonly kind: 'folder' | 'file' | 'link';
  readonly gid: number;
  readonly mode: number;
}

const SET_GID = 0o2000;

/** Bits that the group and the owner need; new files in a folder get the folder's group. */
function neededMode(kind: 'folder' | 'file', readOnly: boolean): number {
  const bits = readOnly ? 0o440 : 0o660;
  return kind === 'folder' ? bits | 0o110 | SET_GID : bits;
}

/**
 * The change to a file of a volume so that the group can use it (behaviour:volumes, fsGroup): bits are only added, and
 * a link has no mode of its own. Undefined when nothing has to change.
 */
export function ownershipChange(
  { kind, gid, mode }: OwnedFile,
  wanted: VolumeOwnership,
): { readonly gid: number; readonly mode?: number } | undefined {
  if (kind === 'link') return gid === wanted.gid ? undefined : { gid: wanted.gid };
  const full = mode | neededMode(kind, wanted.readOnly);
  return gid === wanted.gid && full === mode ? undefined : { gid: wanted.gid, mode: full };
}

/** Whether the files of a volume have to be checked, decided from the volume's own folder. */
export function ownershipNeeded(root: OwnedFile, wanted: VolumeOwnership): boolean {
  if (wanted.policy !== 'OnRootMismatch' || root.kind !== 'folder') return true;
  return ownershipChange(root, wanted) !== undefined;
}

/** Milliseconds until the first event about a slow ownership change of a volume, and between further ones. */
export const OWNERSHIP_NEWS_MS = { first: 30_000, then: 60_000 } as const;

/**
 * The message of that event (reason VolumePermissionChangeInProgress).
 *
 * @param files the number of files that have been checked so far; undefined for the first event
 */
export function ownershipNews(path: string, uid: string, files: number | undefined): string {
  const begin = path.indexOf(uid);
  const name = begin === -1 ? path : path.slice(begin);
  if (files !== undefined) return `Setting volume ownership for ${name}, processed ${files} files.`;
  return (
    `Setting volume ownership for ${name} is taking longer than expected, consider using OnRootMismatch - ` +
    'https://kubernetes.io/docs/tasks/configure-pod-container/security-context/' +
    '#configure-volume-permission-and-ownership-change-policy-for-pods'
  );
}
