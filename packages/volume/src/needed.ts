import type { Pod, Volume } from '@kubus/contracts';

/**
 * The volumes that have to be there before a container of the pod can start: those that some container mounts, has as a
 * device, or reads variables from (kubelet behaviour 1.13). Others are never made. Images are not among them: the container
 * runtime mounts those itself.
 */
export function neededVolumes({ spec }: Pick<Pod, 'spec'>): Volume[] {
  const containers = [...(spec.initContainers ?? []), ...spec.containers, ...(spec.ephemeralContainers ?? [])];
  const names = new Set<string>();
  for (const { volumeMounts = [], volumeDevices = [], env = [] } of containers) {
    for (const { name } of [...volumeMounts, ...volumeDevices]) names.add(name);
    for (const { valueFrom } of env)
      if (valueFrom?.fileKeyRef !== undefined) names.add(valueFrom.fileKeyRef.volumeName);
  }
  return (spec.volumes ?? []).filter(({ name, image }) => names.has(name) && image === undefined);
}
