import type { MountedVolume } from '@kubus/contracts';
import { KubusError } from '@kubus/ports';
import type { FolderStep, SubPathPlace, VolumeStep } from '@kubus/volume';

/**
 * Thrown when something that a volume is made of is not available yet, which is not a failure. The message says what
 * is missing.
 */
export class VolumeAwaits extends KubusError {}

/** A volume that was made as its step says. */
export interface MadeVolume {
  readonly volume: MountedVolume;
  /**
   * When the step has to be made again even if it has not changed, in milliseconds since the Unix epoch; default:
   * never.
   */
  readonly refreshAt?: number;
}

/** A Kubernetes event about a volume of a pod. */
export interface VolumeEvent {
  /** Default: Warning. */
  readonly type?: 'Normal' | 'Warning';
  readonly reason: string;
  readonly message: string;
}

/** Thrown when a volume cannot be made or removed: with the message and reason of the Kubernetes event. */
export class VolumeFailure extends KubusError {
  readonly reason: string;

  constructor(reason: string, message: string, options: { cause: unknown }) {
    super('volume-failure', message, options);
    this.reason = reason;
  }
}

/** A part of a volume that a container mounts. */
export interface SubPath extends SubPathPlace {
  /** Where the volume is mounted. */
  readonly hostPath: string;
  /** Relative to the volume, without `..`. */
  readonly path: string;
}

/** The volumes on the machine. Every action may be repeated after it was interrupted at any point. */
export interface VolumeHost {
  /**
   * Makes a missing volume, updates an existing one to its step, and returns where it is. Throws when that is
   * impossible, {@link VolumeAwaits} when it is not possible yet; an existing volume then stays.
   *
   * @param report called with events for the pod's user meanwhile
   */
  make(step: VolumeStep, report: (event: VolumeEvent) => void): Promise<MadeVolume>;
  /** Where the volume is; undefined when it is missing. Makes nothing. */
  find(step: VolumeStep): Promise<MountedVolume | undefined>;
  /**
   * Prepares the part of a volume that a container mounts, and returns its path. Throws when the path leads out of the
   * volume or cannot be opened; no error contains any part of it.
   */
  subPath(mount: SubPath): Promise<string>;
  /** Unmounts and removes all volumes of a pod; does nothing when it has none. Throws while one is in use. */
  remove(uid: string): Promise<void>;
  /** Disk usage of a folder in bytes; undefined when it cannot be read. */
  usage(folder: Pick<FolderStep, 'path' | 'quota'>): Promise<bigint | undefined>;
  /** UIDs of the pods that have a folder for volumes. */
  pods(): Promise<string[]>;
}
