import type { Container, Pod, Volume } from '@kubus/contracts';

/** Kinds of volumes that this version makes. */
const VOLUMES = ['emptyDir', 'hostPath'];

/**
 * What a pod asks for that this version does not do. Such a pod is not started at all: running it without would be
 * something else than what its author wrote. Empty when everything is understood.
 */
export function unsupportedFields(pod: Pick<Pod, 'spec'>): string[] {
  const { spec } = pod;
  return [
    ...asked((spec.resourceClaims?.length ?? 0) > 0, 'spec.resourceClaims'),
    ...(spec.volumes ?? []).flatMap((volume, index) => ofVolume(volume, `spec.volumes[${index}]`)),
    ...inList(spec.initContainers, 'spec.initContainers'),
    ...inList(spec.containers, 'spec.containers'),
    ...inList(spec.ephemeralContainers, 'spec.ephemeralContainers'),
  ];
}

function asked(present: boolean, field: string): string[] {
  return present ? [field] : [];
}

function ofVolume({ name: _name, ...sources }: Volume, at: string): string[] {
  return Object.keys(sources)
    .filter((kind) => !VOLUMES.includes(kind))
    .map((kind) => `${at}.${kind}`);
}

function inList(containers: readonly Container[] | undefined, list: string): string[] {
  return (containers ?? []).flatMap((container, index) => ofContainer(container, `${list}[${index}]`));
}

function ofContainer({ volumeDevices, volumeMounts }: Container, at: string): string[] {
  const mounts = (volumeMounts ?? []).flatMap(({ subPath = '', subPathExpr = '' }, index) => [
    ...asked(subPath !== '', `${at}.volumeMounts[${index}].subPath`),
    ...asked(subPathExpr !== '', `${at}.volumeMounts[${index}].subPathExpr`),
  ]);
  return [...mounts, ...asked((volumeDevices?.length ?? 0) > 0, `${at}.volumeDevices`)];
}
