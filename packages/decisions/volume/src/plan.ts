import {
  type EmptyDirVolumeSource,
  type Pod,
  type Volume,
  parseQuantity,
  quantityUnits,
  volumeSourceNames,
} from '@kubus/contracts';
import { claimOf } from './claim-name.ts';
import { planClaim } from './claim.ts';
import { planContent } from './content.ts';
import { type VolumeSettings, diskFolder, memoryFolder } from './folders.ts';
import type { KnownObjects } from './known.ts';
import { planInlineCsi } from './csi-inline.ts';
import { neededVolumes } from './needed.ts';
import { planNfs } from './nfs.ts';
import { emptyDirFolder } from './paths.ts';
import { unsupported } from './persistent-volume.ts';
import type { VolumePlan } from './step.ts';

/** How each volume that the pod needs is to be created (behaviour:volumes, plugins), in the order of the pod's spec. */
export function planVolumes(pod: Pod, settings: VolumeSettings, known: KnownObjects): VolumePlan[] {
  return neededVolumes(pod).map((volume) => planVolume(pod, volume, settings, known));
}

function planVolume(pod: Pod, volume: Volume, settings: VolumeSettings, known: KnownObjects): VolumePlan {
  const { name, emptyDir, hostPath, csi, nfs } = volume;
  if (hostPath !== undefined) return { name, step: { kind: 'host', path: hostPath.path, type: hostPath.type ?? '' } };
  if (emptyDir !== undefined) return planEmptyDir(pod, name, emptyDir, settings);
  const content = planContent(pod, volume, settings, known);
  if (content !== undefined) return content;
  if (csi !== undefined) return planInlineCsi(pod, name, csi, settings.root, known);
  const claim = claimOf(pod, volume);
  if (claim !== undefined) return planClaim(pod, volume, claim, settings, known);
  if (nfs !== undefined) {
    const { server, path, readOnly = false } = nfs;
    return planNfs(pod, { name, specName: name, server, path, readOnly, mountOptions: [] }, settings);
  }
  const kind = volumeSourceNames.find((source) => volume[source] !== undefined) ?? 'no';
  return unsupported(name, kind);
}

function planEmptyDir(pod: Pod, name: string, source: EmptyDirVolumeSource, settings: VolumeSettings): VolumePlan {
  const { medium = '' } = source;
  const path = emptyDirFolder(settings.root, pod.metadata.uid, name);
  const gid = pod.spec.securityContext?.fsGroup;
  if (medium === '') {
    const { sizeLimit } = source;
    // Without a user namespace the pod could give its files another project.
    const quota = settings.projectQuotas === true && pod.spec.hostUsers === false;
    const step = { ...diskFolder(path, gid), ...(sizeLimit !== undefined && { sizeLimit }) };
    return { name, step: { ...step, ...(quota && { quota }) } };
  }
  if (medium === 'Memory') return { name, step: memoryFolder(pod, path, { ...source, settings }) };
  if (medium === 'HugePages' || medium.startsWith('HugePages-')) {
    const size = pageSize(pod, medium);
    if (typeof size === 'string') return { name, refusal: size };
    // The kernel does not accept a set-group-ID bit here.
    const owner = gid === undefined ? [] : [`gid=${gid}`];
    const options = [`pagesize=${size}`, 'mode=777', ...owner];
    return { name, step: { kind: 'memory', path, type: 'hugetlbfs', options } };
  }
  return { name, refusal: `unknown storage medium "${medium}"` };
}

const RESOURCE = 'hugepages-';

/** The page size in bytes, or why it is unknown: `HugePages` alone requires a pod that requests only one size. */
function pageSize({ spec }: Pod, medium: string): bigint | string {
  const containers = [...(spec.initContainers ?? []), ...spec.containers, spec];
  const asked = containers.flatMap(({ resources }) => Object.keys({ ...resources?.requests, ...resources?.limits }));
  const sizes = new Set(
    asked.filter((resource) => resource.startsWith(RESOURCE)).map((resource) => resource.slice(RESOURCE.length)),
  );
  const named = medium.slice('HugePages-'.length);
  if (named !== '' && !sizes.has(named)) return `medium ${medium} is not a huge page size that the pod requests`;
  if (named === '' && sizes.size !== 1) {
    return `medium ${medium} requires a pod that requests huge pages of exactly one size, not ${sizes.size}`;
  }
  const [size = ''] = named === '' ? sizes : [named];
  const quantity = parseQuantity(size);
  return quantity === undefined ? `"${size}" is not a huge page size` : quantityUnits(quantity);
}
