import type { CsiVolumes } from './csi-volumes.ts';
import type { VolumeUsage } from '../usage/file-system-stats.ts';

/** The driver's statistics of the volume at a pod's path; undefined when they are incomplete. */
export async function csiStats(volumes: Pick<CsiVolumes, 'stats'>, path: string): Promise<VolumeUsage | undefined> {
  const { bytes, inodes } = (await volumes.stats(path)) ?? {};
  if (bytes === undefined) return undefined;
  return {
    capacityBytes: Number(bytes.total),
    availableBytes: Number(bytes.available),
    usedBytes: Number(bytes.used),
    inodes: Number(inodes?.total ?? 0),
    inodesFree: Number(inodes?.available ?? 0),
    inodesUsed: Number(inodes?.used ?? 0),
  };
}
