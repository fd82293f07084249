import { podMemoryLimit } from '@kubus/cgroup-config';
import { type Pod, parseQuantity, quantityUnits } from '@kubus/contracts';
import type { FolderStep, MemoryStep } from './step.ts';

export interface VolumeSettings {
  /** The node's folder for pods (the kubelet's root), without symbolic links. */
  readonly root: string;
  /** The node's allocatable memory, in bytes. */
  readonly memory: bigint;
  /** Whether the kernel can keep a tmpfs out of swap. See {@link hasNoSwap}. */
  readonly noSwap: boolean;
  /** Project quotas measure volumes of pods with a user namespace (LocalStorageCapacityIsolationFSQuotaMonitoring). Default: false. */
  readonly projectQuotas?: boolean;
}

/** Whether a kernel of this release supports the mount option `noswap` of tmpfs(5): since 6.4. */
export function hasNoSwap(release: string): boolean {
  const [major = 0, minor = 0] = release.split('.').map((part) => Number.parseInt(part, 10));
  return major > 6 || (major === 6 && minor >= 4);
}

const MODE = 0o777;
const SET_GID = 0o2000;
/** The default mode of a tmpfs, which the reference keeps: users cannot remove files of others. */
const STICKY = 0o1000;

/** A folder on the node's disk to which all of the pod's containers may write. */
export function diskFolder(path: string, gid: number | undefined): FolderStep {
  return { kind: 'folder', path, mode: modeFor(gid), ...(gid !== undefined && { gid }) };
}

/** The same in memory: never larger than `sizeLimit`, the pod's memory limit, or the node's allocatable memory. */
export function memoryFolder(
  pod: Pod,
  path: string,
  { sizeLimit, settings }: { sizeLimit?: string | undefined; settings: VolumeSettings },
): MemoryStep {
  const gid = pod.spec.securityContext?.fsGroup;
  const options = [
    `size=${memorySize(pod, sizeLimit, settings.memory)}`,
    `mode=${(modeFor(gid) | STICKY).toString(8)}`,
    ...(gid === undefined ? [] : [`gid=${gid}`]),
    ...(settings.noSwap ? ['noswap'] : []),
  ];
  return { kind: 'memory', path, type: 'tmpfs', options };
}

/** Files created in it get the pod's group. */
function modeFor(gid: number | undefined): number {
  return gid === undefined ? MODE : MODE | SET_GID;
}

/** At most the pod's memory limit, because its content counts as the pod's memory (KEP-1967). */
function memorySize(pod: Pod, sizeLimit: string | undefined, nodeMemory: bigint): bigint {
  const own = sizeLimit === undefined ? undefined : parseQuantity(sizeLimit);
  const limits = [podMemoryLimit(pod), own && quantityUnits(own)];
  return limits.reduce<bigint>(
    (least, limit) => (limit !== undefined && limit > 0n && limit < least ? limit : least),
    nodeMemory,
  );
}
