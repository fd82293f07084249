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
    ...asked(spec.runtimeClassName !== undefined, 'spec.runtimeClassName'),
    ...asked(spec.hostUsers === false, 'spec.hostUsers'),
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

function ofContainer({ env, envFrom, volumeDevices, volumeMounts }: Container, at: string): string[] {
  const variables = (env ?? []).flatMap(({ valueFrom }, index) => {
    const { fieldRef: _field, resourceFieldRef: _resource, ...others } = valueFrom ?? {};
    return Object.keys(others).map((kind) => `${at}.env[${index}].valueFrom.${kind}`);
  });
  const mounts = (volumeMounts ?? []).flatMap(({ subPath = '', subPathExpr = '' }, index) => [
    ...asked(subPath !== '', `${at}.volumeMounts[${index}].subPath`),
    ...asked(subPathExpr !== '', `${at}.volumeMounts[${index}].subPathExpr`),
  ]);
  return [
    ...asked((envFrom?.length ?? 0) > 0, `${at}.envFrom`),
    ...variables,
    ...mounts,
    ...asked((volumeDevices?.length ?? 0) > 0, `${at}.volumeDevices`),
  ];
}
