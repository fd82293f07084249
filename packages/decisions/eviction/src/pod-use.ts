import { type Pod, parseQuantity } from '@kubus/contracts';
import { podResourceList } from '@kubus/pod-status';

/** Bytes and inodes. */
export interface DiskUse {
  readonly usedBytes: number;
  readonly inodesUsed: number;
}

/** What a running container uses; undefined where it could not be read. */
export interface ContainerUse {
  readonly name: string;
  /** Bytes of its working set. */
  readonly memory: number | undefined;
  /** Its writable layer, and its logs. */
  readonly rootfs: DiskUse | undefined;
  readonly logs: DiskUse | undefined;
}

/** What a pod uses at one time. */
export interface PodUse {
  /** Bytes of its working set. */
  readonly memory: number;
  readonly processes: number;
  readonly containers: readonly ContainerUse[];
  /** `isLocal`: in the node's own files, and removed with the pod. */
  readonly volumes: readonly (DiskUse & { readonly name: string; readonly isLocal: boolean })[];
}

/** A pod that could be evicted; `use` is undefined when nothing is known of it. */
export interface Candidate {
  readonly pod: Pod;
  readonly use: PodUse | undefined;
}

/** What the pod requests of a resource, in bytes; inodes and processes cannot be requested. */
export function requestOf(pod: Pod, resource: string): number {
  const quantity = parseQuantity(podResourceList(pod, 'requests')[resource] ?? '0');
  return quantity === undefined ? 0 : Number(quantity.nano) / 1e9;
}
