import { joinErrors } from '@kubus/contracts';
import { formatGoDuration } from '@kubus/pod';
import { formatBytes } from './bytes.ts';

/** When images are removed. Percentages are relative to the capacity of the image file system; times are in milliseconds. */
export interface ImageGcPolicy {
  /** Images are removed at this usage or above (imageGCHighThresholdPercent). */
  readonly highPercent: number;
  /** Images are removed until usage is down to this (imageGCLowThresholdPercent). */
  readonly lowPercent: number;
  /** An image is kept for at least this long after it was first seen or made available to a pod (imageMinimumGCAge). */
  readonly minAgeMs: number;
  /** An image that has not been used for longer is removed (imageMaximumGCAge). 0: age is ignored. */
  readonly maxAgeMs: number;
}

/** Images are never removed, neither by age nor to free space. */
export function isOff({ highPercent, maxAgeMs }: ImageGcPolicy): boolean {
  return highPercent >= 100 && maxAgeMs === 0;
}

/** What is recorded about an image. Times are milliseconds since the Unix epoch. */
export interface ImageRecord {
  readonly id: string;
  readonly bytes: number;
  /** The runtime requires that it is kept. */
  readonly pinned: boolean;
  /** A container uses it, running or not. */
  readonly inUse: boolean;
  readonly firstSeenAt: number;
  /** When it was last seen in use; 0 for never. */
  readonly lastUsedAt: number;
  /** When a pod last got permission to use it; 0 for never. Its container may still be being created. */
  readonly lastGivenAt: number;
}

export type ImageRecords = ReadonlyMap<string, ImageRecord>;

/** The records after a read of the runtime's images: new images are added, removed ones are dropped. */
export function observeImages(
  records: ImageRecords,
  seen: {
    readonly images: readonly Pick<ImageRecord, 'id' | 'bytes' | 'pinned'>[];
    readonly inUse: ReadonlySet<string>;
    readonly now: number;
  },
): ImageRecords {
  const { images, inUse, now } = seen;
  return new Map(
    images.map(({ id, bytes, pinned }) => {
      const { firstSeenAt = now, lastUsedAt = 0, lastGivenAt = 0 } = records.get(id) ?? {};
      const used = inUse.has(id);
      return [id, { id, bytes, pinned, inUse: used, firstSeenAt, lastUsedAt: used ? now : lastUsedAt, lastGivenAt }];
    }),
  );
}

/** The records after a pod has got permission to use the image at `now`. */
export function giveImage(records: ImageRecords, id: string, now: number): ImageRecords {
  const known = records.get(id) ?? { id, bytes: 0, pinned: false, inUse: false, firstSeenAt: now, lastUsedAt: 0 };
  return new Map([...records, [id, { ...known, lastGivenAt: now }]]);
}

/** Images that no container uses: least recently used first, then by when they were first seen. */
function removable(records: ImageRecords): ImageRecord[] {
  return [...records.values()]
    .filter(({ pinned, inUse }) => !pinned && !inUse)
    .sort((a, b) => a.lastUsedAt - b.lastUsedAt || a.firstSeenAt - b.firstSeenAt);
}

/** Images that have not been used for too long. None before the node itself has been up for that long, because usage before is unknown. */
export function tooOld(
  records: ImageRecords,
  policy: ImageGcPolicy,
  times: { now: number; upSince: number },
): string[] {
  const { maxAgeMs } = policy;
  const { now, upSince } = times;
  if (maxAgeMs === 0 || now - upSince <= maxAgeMs) return [];
  return removable(records)
    .filter(({ lastUsedAt, lastGivenAt }) => now - Math.max(lastUsedAt, lastGivenAt) > maxAgeMs)
    .map(({ id }) => id);
}

/** Images that may be removed to free space, in this order, until enough is free. */
export function forSpace(records: ImageRecords, { minAgeMs }: ImageGcPolicy, now: number): ImageRecord[] {
  return removable(records).filter(
    ({ firstSeenAt, lastGivenAt }) => now - Math.max(firstSeenAt, lastGivenAt) >= minAgeMs,
  );
}

/** The file system that contains the images, in bytes. */
export interface DiskSpace {
  readonly capacity: number;
  readonly available: number;
}

export interface DiskUsage {
  readonly percent: number;
  /** How much has to be freed; 0 when there is enough space. */
  readonly bytesToFree: number;
}

/** @returns undefined for a file system that reports no capacity */
export function diskUsage(space: DiskSpace, { highPercent, lowPercent }: ImageGcPolicy): DiskUsage | undefined {
  const { capacity } = space;
  if (capacity <= 0) return undefined;
  const available = Math.min(space.available, capacity);
  const percent = 100 - Math.floor((available * 100) / capacity);
  const wanted = Math.floor((capacity * (100 - lowPercent)) / 100) - available;
  return { percent, bytesToFree: percent >= highPercent ? Math.max(0, wanted) : 0 };
}

/**
 * The error message when images could not be removed by age; `errors` are the reasons for the single images
 * (behaviour:garbage-collection).
 */
export function notRemovedForAge({ maxAgeMs }: ImageGcPolicy, errors: readonly string[]): string {
  const why = `encountered errors in image deletion: ${joinErrors(errors)}`;
  return `wanted to free images older than ${formatGoDuration(maxAgeMs)}, ${why}`;
}

/** The error message when images could not be removed to free space; all values in bytes. */
export function notRemovedForSpace(bytes: { wanted: number; freed: number }, errors: readonly string[]): string {
  const why = `errors in image deletion: ${joinErrors(errors)}`;
  return `wanted to free ${bytes.wanted} bytes, but freed ${bytes.freed} bytes space with ${why}`;
}

/** The message of the event FreeDiskSpaceFailed (behaviour:garbage-collection). */
export function notEnoughFreed(percent: number, capacity: number, freed: number): string {
  return (
    `Insufficient free disk space on the node's image filesystem (${percent}% of ${formatBytes(capacity)} used). ` +
    `Failed to free sufficient space by deleting unused images (freed ${freed} bytes). ` +
    'Investigate disk usage, as it could be used by active images, logs, volumes, or other data.'
  );
}
