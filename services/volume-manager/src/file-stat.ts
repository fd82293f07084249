import { KubusError, ignoring } from '@kubus/ports';
import type { FileKind } from '@kubus/volume';
import type { Stats } from 'node:fs';
import { stat } from 'node:fs/promises';

/** A volume can not be made as its pod wants it. */
export class VolumeRefused extends KubusError {}

/** Folders above the volumes are for root alone, as the kubelet's (kubelet behaviour 1.3, SyncPod). */
export const FOLDER_MODE = 0o750;

/** What is at the path, links followed; undefined when there is nothing. */
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
