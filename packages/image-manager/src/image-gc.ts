import { joinErrors } from '@kubus/contracts';
import { formatBytes } from './bytes.ts';
import { formatElapsed } from './pulled-message.ts';

/** When images are removed. Percentages are of the image file system's capacity; times are milliseconds. */
export interface ImageGcPolicy {
  /** From this usage on images are removed (imageGCHighThresholdPercent). */
  readonly highPercent: number;
  /** Down to this usage (imageGCLowThresholdPercent). */
  readonly lowPercent: number;
  /** For this long after an image was first seen, or given to a pod, it stays (imageMinimumGCAge). */
  readonly minAgeMs: number;
  /** An image that was not used for longer goes (imageMaximumGCAge). 0: age does not matter. */
  readonly maxAgeMs: number;
}

/** Neither age nor space will ever make an image go. */
export function isOff({ highPercent, maxAgeMs }: ImageGcPolicy): boolean {
  return highPercent >= 100 && maxAgeMs === 0;
}

/** What is remembered of an image. Times are milliseconds since the Unix epoch. */
export interface ImageRecord {
  readonly id: string;
  readonly bytes: number;
  /** The runtime says that it must stay. */
  readonly pinned: boolean;
  /** A container has it, running or not. */
  readonly inUse: boolean;
  readonly firstSeenAt: number;
  /** When it was last seen in use; 0 for never. */
  readonly lastUsedAt: number;
  /** When a pod was last told that it may use it; 0 for never. Its container may still be in the making. */
  readonly lastGivenAt: number;
}

export type ImageRecords = ReadonlyMap<string, ImageRecord>;

/** The records after a look at the runtime: new images are added, those that are not there any more dropped. */
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

/** The records when a pod has been told at `now` that it may use the image. */
export function giveImage(records: ImageRecords, id: string, now: number): ImageRecords {
  const known = records.get(id) ?? { id, bytes: 0, pinned: false, inUse: false, firstSeenAt: now, lastUsedAt: 0 };
  return new Map([...records, [id, { ...known, lastGivenAt: now }]]);
}

/** Images that nobody needs, the one that was not used for the longest time first, then the one seen first. */
function removable(records: ImageRecords): ImageRecord[] {
  return [...records.values()]
    .filter(({ pinned, inUse }) => !pinned && !inUse)
    .sort((a, b) => a.lastUsedAt - b.lastUsedAt || a.firstSeenAt - b.firstSeenAt);
}

/** Images that were not used for too long. None before the node itself has been up for as long: it has not seen enough. */
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

/** Images that may be removed for space, in this order, until enough is free. */
export function forSpace(records: ImageRecords, { minAgeMs }: ImageGcPolicy, now: number): ImageRecord[] {
  return removable(records).filter(
    ({ firstSeenAt, lastGivenAt }) => now - Math.max(firstSeenAt, lastGivenAt) >= minAgeMs,
  );
}

/** Of the file system that holds the images, in bytes. */
export interface DiskSpace {
  readonly capacity: number;
  readonly available: number;
}

export interface DiskUsage {
  readonly percent: number;
  /** How much has to go; 0 when there is room enough. */
  readonly bytesToFree: number;
}

/** @returns undefined for a file system without a capacity, of which nothing can be said. */
export function diskUsage(space: DiskSpace, { highPercent, lowPercent }: ImageGcPolicy): DiskUsage | undefined {
  const { capacity } = space;
  if (capacity <= 0) return undefined;
  const available = Math.min(space.available, capacity);
  const percent = 100 - Math.floor((available * 100) / capacity);
  const wanted = Math.floor((capacity * (100 - lowPercent)) / 100) - available;
  return { percent, bytesToFree: percent >= highPercent ? Math.max(0, wanted) : 0 };
}

/** Images that should have gone for their age have not; `errors` says why, image by image (kubelet behaviour 1.9). */
export function notRemovedForAge({ maxAgeMs }: ImageGcPolicy, errors: readonly string[]): string {
  const why = `encountered errors in image deletion: ${joinErrors(errors)}`;
  return `wanted to free images older than ${formatElapsed(maxAgeMs)}, ${why}`;
}

/** The same for images that should have gone for space, all in bytes. */
export function notRemovedForSpace(bytes: { wanted: number; freed: number }, errors: readonly string[]): string {
  const why = `errors in image deletion: ${joinErrors(errors)}`;
  return `wanted to free ${bytes.wanted} bytes, but freed ${bytes.freed} bytes space with ${why}`;
}

/** The event FreeDiskSpaceFailed says so (kubelet behaviour 1.9). */
export function notEnoughFreed(percent: number, capacity: number, freed: number): string {
  return (
    `Insufficient free disk space on the node's image filesystem (${percent}% of ${formatBytes(capacity)} used). ` +
    `Failed to free sufficient space by deleting unused images (freed ${freed} bytes). ` +
    'Investigate disk usage, as it could be used by active images, logs, volumes, or other data.'
  );
}
