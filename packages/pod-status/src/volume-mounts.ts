import type { Container, ContainerStatus } from '@kubus/contracts';

/** The mounts of a container as its status shows them; undefined when it has none (KEP-3857, KEP-4639). */
export function volumeMountStatuses(
  container: Pick<Container, 'volumeMounts'>,
  options: { recursiveReadOnly: boolean; imageVolumes?: ReadonlyMap<string, string> | undefined },
): ContainerStatus['volumeMounts'] {
  const mounts = container.volumeMounts ?? [];
  if (mounts.length === 0) return undefined;
  return mounts.map(({ name, mountPath, readOnly, recursiveReadOnly }) => {
    const recursive =
      recursiveReadOnly === 'Enabled' || (recursiveReadOnly === 'IfPossible' && options.recursiveReadOnly);
    const imageRef = options.imageVolumes?.get(name);
    return {
      name,
      mountPath,
      ...(readOnly === true && { readOnly, recursiveReadOnly: recursive ? 'Enabled' : 'Disabled' }),
      ...(imageRef !== undefined && { volumeStatus: { image: { imageRef } } }),
    };
  });
}
