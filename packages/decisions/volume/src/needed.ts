import type { Pod, Volume } from '@kubus/contracts';

/** The names of the volumes that some container mounts, and of those that some container uses as a device. */
export function usedVolumes({ spec }: Pick<Pod, 'spec'>): {
  readonly files: ReadonlySet<string>;
  readonly devices: ReadonlySet<string>;
} {
  const containers = [...(spec.initContainers ?? []), ...spec.containers, ...(spec.ephemeralContainers ?? [])];
  const files = new Set<string>();
  const devices = new Set<string>();
  for (const { volumeMounts = [], volumeDevices = [], env = [] } of containers) {
    for (const { name } of volumeMounts) files.add(name);
    for (const { name } of volumeDevices) devices.add(name);
    for (const { valueFrom } of env)
      if (valueFrom?.fileKeyRef !== undefined) files.add(valueFrom.fileKeyRef.volumeName);
  }
  return { files, devices };
}

/**
 * The volumes that have to be mounted before a container of the pod can start: those that some container mounts, uses as
 * a device, or reads variables from (behaviour:volumes). Others are never mounted. Image volumes are not included: the
 * container runtime mounts them itself.
 */
export function neededVolumes(pod: Pick<Pod, 'spec'>): Volume[] {
  const { files, devices } = usedVolumes(pod);
  return (pod.spec.volumes ?? []).filter(
    ({ name, image }) => (files.has(name) || devices.has(name)) && image === undefined,
  );
}
