import type { MountedVolume } from '@kubus/contracts';
import { KubusError } from '@kubus/ports';
import type { SubPathPlace, VolumeStep } from '@kubus/volume';

/** What a volume is made of is not to be had at the moment, which is nobody's failure. The message says what that is. */
export class VolumeAwaits extends KubusError {}

/** A volume that is there as its step says. */
export interface MadeVolume {
  readonly volume: MountedVolume;
  /** Milliseconds since the Unix epoch: when its step has to be made again without having changed. */
  readonly againAt?: number;
}

/** Something about a volume that its pod's user is to know. */
export interface VolumeNews {
  /** Left out: Warning. */
  readonly type?: 'Normal' | 'Warning';
  readonly reason: string;
  readonly message: string;
}

/** A volume can not be made or removed; what its user is told of that is the message, with the reason of its event. */
export class VolumeFailure extends KubusError {
  readonly reason: string;

  constructor(reason: string, message: string, options: { cause: unknown }) {
    super('volume-failure', message, options);
    this.reason = reason;
  }
}

/** A part of a volume that a container mounts. */
export interface SubPath extends SubPathPlace {
  /** Where the volume is. */
  readonly hostPath: string;
  /** Relative to the volume, without `..`. */
  readonly path: string;
}

/** The volumes as they really are on the machine. Every action may be done again after it was cut short at any point. */
export interface VolumeHost {
  /**
   * Makes the volume where it is missing, brings it to what the step says where it is there, and gives where it is. Throws
   * when that can not be done, {@link VolumeAwaits} when it can not be done yet; what was there before then stays.
   *
   * @param tell called with what the pod's user should know meanwhile
   */
  make(step: VolumeStep, tell: (news: VolumeNews) => void): Promise<MadeVolume>;
  /** Where the volume is; undefined when it is missing. Makes nothing. */
  find(step: VolumeStep): Promise<MountedVolume | undefined>;
  /**
   * Makes ready what a container mounts out of a volume, and gives where that is. Throws when the path would lead out of
   * the volume or can not be opened; no error shows any part of it.
   */
  subPath(mount: SubPath): Promise<string>;
  /** Unmounts and removes all volumes of a pod; harmless when it has none. Throws as long as one is in use. */
  remove(uid: string): Promise<void>;
  /** Bytes on the disk of all that is in a folder; undefined when that can not be told. */
  usage(folder: string): Promise<bigint | undefined>;
  /** UIDs of the pods that have a folder for volumes. */
  pods(): Promise<string[]>;
}
