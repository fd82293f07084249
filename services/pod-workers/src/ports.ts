import type { PodRef } from '@kubus/contracts';

/** The pods' files on the node that this service makes and removes. */
export interface PodFiles {
  /** Makes the folder of a container's logs. The runtime writes into it, but does not make it. */
  makeLogFolder(pod: PodRef, container: string): Promise<void>;
  /** Absolute folder of the pod's logs. */
  logFolder(pod: PodRef): string;
  /** Removes everything of the pod. Harmless when there is nothing. */
  remove(pod: PodRef): Promise<void>;
}

/** The pods' cgroups. The runtime makes one when its first container needs it; nobody but us removes it. */
export interface PodCgroups {
  /** The pod's cgroup as the runtime takes it, such as `/kubepods/besteffort/pod<uid>`. */
  parent(uid: string, qos: string): string;
  /** Removes the pod's cgroup, whatever its class was. Harmless when there is none. */
  remove(uid: string): Promise<void>;
}
