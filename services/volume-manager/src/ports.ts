import type { MountedVolume } from '@kubus/contracts';
import type { VolumeStep } from '@kubus/volume';

/** The volumes as they really are on the machine. Every action may be done again after it was cut short at any point. */
export interface VolumeHost {
  /** Makes the volume where it is missing, and gives where it is. Throws when it can not be made. */
  make(step: VolumeStep): Promise<MountedVolume>;
  /** Where the volume is; undefined when it is missing. Makes nothing. */
  find(step: VolumeStep): Promise<MountedVolume | undefined>;
  /** Unmounts and removes all volumes of a pod; harmless when it has none. Throws as long as one is in use. */
  remove(uid: string): Promise<void>;
  /** UIDs of the pods that have a folder for volumes. */
  pods(): Promise<string[]>;
}
