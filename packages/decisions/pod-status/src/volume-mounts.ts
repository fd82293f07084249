import type { Container, ContainerStatus } from '@kubus/contracts';
import { recursiveReadOnly } from './recursive-read-only.ts';

/** The mounts of a container as in its status; undefined when it has none (KEP-3857, KEP-4639). */
export function volumeMountStatuses(
  container: Pick<Container, 'volumeMounts'>,
  options: { recursiveReadOnly: boolean; imageVolumes?: ReadonlyMap<string, string> | undefined },
): ContainerStatus['volumeMounts'] {
  const mounts = container.volumeMounts ?? [];
  if (mounts.length === 0) return undefined;
  return mounts.map((mount) => {
    const { name, mountPath, readOnly } = mount;
    // A container with a mount that is not possible as requested is never created.
    const recursive = recursiveReadOnly(mount, options.recursiveReadOnly) === true;
    const imageRef = options.imageVolumes?.get(name);
    return {
      name,
      mountPath,
      ...(readOnly === true && { readOnly, recursiveReadOnly: recursive ? 'Enabled' : 'Disabled' }),
      ...(imageRef !== undefined && { volumeStatus: { image: { imageRef } } }),
    };
  });
}
