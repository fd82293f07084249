import type { Pod, Volume } from '@kubus/contracts';

/** Kinds of volumes that this version makes. */
const VOLUMES = [
  'configMap',
  'csi',
  'downwardAPI',
  'emptyDir',
  'ephemeral',
  'hostPath',
  'image',
  'nfs',
  'persistentVolumeClaim',
  'projected',
  'secret',
];

/**
 * What a pod asks for that this version does not do. Such a pod is not started at all: running it without would be
 * something else than what its author wrote. Empty when everything is understood.
 */
export function unsupportedFields(pod: Pick<Pod, 'spec'>): string[] {
  const { spec } = pod;
  return [
    ...asked((spec.resourceClaims?.length ?? 0) > 0, 'spec.resourceClaims'),
    ...(spec.volumes ?? []).flatMap((volume, index) => ofVolume(volume, `spec.volumes[${index}]`)),
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
