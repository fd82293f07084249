import { KubusError, ignoring } from '@kubus/ports';
import type { FileKind } from '@kubus/volume';
import type { Stats } from 'node:fs';
import { stat } from 'node:fs/promises';

/** Thrown when a volume cannot be made as its pod asks for it. */
export class VolumeRefused extends KubusError {}

/** Mode of the folders above the volumes: for root only, as in the kubelet (behaviour:pod-workers, SyncPod). */
export const FOLDER_MODE = 0o750;

/** The file at the path, links followed; undefined when there is none. */
export async function statOf(path: string): Promise<Stats | undefined> {
  return ignoring(['ENOENT', 'ENOTDIR'], stat(path));
}

export function kindOf(stats: Stats | undefined): FileKind | undefined {
  if (stats === undefined) return undefined;
  if (stats.isDirectory()) return 'directory';
  if (stats.isFile()) return 'file';
  if (stats.isSocket()) return 'socket';
  if (stats.isCharacterDevice()) return 'character device';
  return stats.isBlockDevice() ? 'block device' : 'other';
}
