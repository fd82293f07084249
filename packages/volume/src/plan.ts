import { podMemoryLimit } from '@kubus/cgroup-config';
import {
  type EmptyDirVolumeSource,
  type Pod,
  type Volume,
  parseQuantity,
  quantityUnits,
  volumeSourceNames,
} from '@kubus/contracts';
import { neededVolumes } from './needed.ts';
import { emptyDirFolder } from './paths.ts';

/** How a volume comes to be. `gid`: the pod's fsGroup, for files that are made in it. */
export type VolumeStep =
  /** A folder on the node's disk. */
  | { readonly kind: 'folder'; readonly path: string; readonly mode: number; readonly gid?: number }
  /** A file system in memory, mounted on a folder. */
  | {
      readonly kind: 'mount';
      readonly path: string;
      readonly type: 'tmpfs' | 'hugetlbfs';
      readonly options: readonly string[];
    }
  /** Something of the host, checked or made as its type says. */
  | { readonly kind: 'host'; readonly path: string; readonly type: string };

/** One volume of a pod: how to make it, or why that is not possible. */
export type VolumePlan =
  { readonly name: string; readonly step: VolumeStep } | { readonly name: string; readonly refusal: string };

export interface VolumeSettings {
  /** The node's folder for pods (the kubelet's root), without symbolic links. */
  readonly root: string;
  /** Bytes of memory that the node has for pods. */
  readonly memory: bigint;
  /** Whether the kernel can keep a tmpfs out of the swap space. See {@link hasNoSwap}. */
  readonly noSwap: boolean;
}

/** How each volume that the pod needs is to be made (kubelet behaviour 1.13, plugins), in the order of the pod's list. */
export function planVolumes(pod: Pod, settings: VolumeSettings): VolumePlan[] {
  return neededVolumes(pod).map((volume) => planVolume(pod, volume, settings));
}

/** Whether a kernel of this release has the mount option `noswap` of tmpfs(5): since 6.4. */
export function hasNoSwap(release: string): boolean {
  const [major = 0, minor = 0] = release.split('.').map((part) => Number.parseInt(part, 10));
  return major > 6 || (major === 6 && minor >= 4);
}

function planVolume(pod: Pod, volume: Volume, settings: VolumeSettings): VolumePlan {
  const { name, emptyDir, hostPath } = volume;
  if (hostPath !== undefined) return { name, step: { kind: 'host', path: hostPath.path, type: hostPath.type ?? '' } };
  if (emptyDir !== undefined) return planEmptyDir(pod, name, emptyDir, settings);
  const kind = volumeSourceNames.find((source) => volume[source] !== undefined) ?? 'no';
  return { name, refusal: `this version of Kubus does not mount ${kind} volumes` };
}

const MODE = 0o777;
const SET_GID = 0o2000;

function planEmptyDir(pod: Pod, name: string, source: EmptyDirVolumeSource, settings: VolumeSettings): VolumePlan {
  const { medium = '' } = source;
  const path = emptyDirFolder(settings.root, pod.metadata.uid, name);
  const gid = pod.spec.securityContext?.fsGroup;
  const mode = gid === undefined ? MODE : MODE | SET_GID;
  const owner = gid === undefined ? [] : [`gid=${gid}`];
  if (medium === '') return { name, step: { kind: 'folder', path, mode, ...(gid !== undefined && { gid }) } };
  if (medium === 'Memory') {
    const size = `size=${memorySize(pod, source, settings.memory)}`;
    const options = [size, `mode=${mode.toString(8)}`, ...owner, ...(settings.noSwap ? ['noswap'] : [])];
    return { name, step: { kind: 'mount', path, type: 'tmpfs', options } };
  }
  if (medium === 'HugePages' || medium.startsWith('HugePages-')) {
    const size = pageSize(pod, medium);
    if (typeof size === 'string') return { name, refusal: size };
    // The kernel takes no set-group-ID bit here.
    const options = [`pagesize=${size}`, `mode=${MODE.toString(8)}`, ...owner];
    return { name, step: { kind: 'mount', path, type: 'hugetlbfs', options } };
  }
  return { name, refusal: `unknown storage medium "${medium}"` };
}

/** Never more than the pod may use: what is written there counts as its memory (KEP-1967). */
function memorySize(pod: Pod, { sizeLimit }: EmptyDirVolumeSource, nodeMemory: bigint): bigint {
  const own = sizeLimit === undefined ? undefined : parseQuantity(sizeLimit);
  const limits = [podMemoryLimit(pod), own && quantityUnits(own)];
  return limits.reduce<bigint>(
    (least, limit) => (limit !== undefined && limit > 0n && limit < least ? limit : least),
    nodeMemory,
  );
}

const RESOURCE = 'hugepages-';

/** Bytes of a page, or why it is not known: `HugePages` alone needs a pod that asks for one size only. */
function pageSize({ spec }: Pod, medium: string): bigint | string {
  const containers = [...(spec.initContainers ?? []), ...spec.containers, spec];
  const asked = containers.flatMap(({ resources }) => Object.keys({ ...resources?.requests, ...resources?.limits }));
  const sizes = new Set(
    asked.filter((resource) => resource.startsWith(RESOURCE)).map((resource) => resource.slice(RESOURCE.length)),
  );
  const named = medium.slice('HugePages-'.length);
  if (named !== '' && !sizes.has(named)) return `medium ${medium} is none of the sizes that the pod asks for`;
  if (named === '' && sizes.size !== 1) {
    return `medium ${medium} needs a pod that asks for huge pages of one size, not ${sizes.size}`;
  }
  const [size = ''] = named === '' ? sizes : [named];
  const quantity = parseQuantity(size);
  return quantity === undefined ? `"${size}" is no size of huge pages` : quantityUnits(quantity);
}
