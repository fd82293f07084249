import type { Pod, Volume } from '@kubus/contracts';

/** Kinds of volumes that this version supports. */
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
 * Fields of a pod that this version does not support. Such a pod is not started at all: without them it would not run
 * as its author intended. Empty when everything is supported.
 */
export function unsupportedFields(pod: Pick<Pod, 'spec'>): string[] {
  const { spec } = pod;
  return (spec.volumes ?? []).flatMap((volume, index) => ofVolume(volume, `spec.volumes[${index}]`));
}

function ofVolume({ name: _name, ...sources }: Volume, at: string): string[] {
  return Object.keys(sources)
    .filter((kind) => !VOLUMES.includes(kind))
    .map((kind) => `${at}.${kind}`);
}
