import type { Container } from '@kubus/contracts';
import type { Device } from '@kubus/proto/cri';
import { ContainerConfigError } from './errors.ts';
import type { MountSettings } from './mounts.ts';

/**
 * The block volumes that a container receives as devices (behaviour:volumes, block).
 *
 * Throws {@link ContainerConfigError} when a volume is missing or is not a block device.
 */
export function volumeDevices(
  { name: container, volumeDevices: wanted = [] }: Pick<Container, 'name' | 'volumeDevices'>,
  { volumes }: Pick<MountSettings, 'volumes'>,
): Device[] {
  return wanted.map(({ name, devicePath }) => {
    if (!devicePath.startsWith('/')) {
      throw new ContainerConfigError(`error DevicePath \`${devicePath}\` must be an absolute path`);
    }
    const volume = volumes?.get(name);
    if (volume?.device !== true) {
      throw new ContainerConfigError(`cannot find volume "${name}" to pass into container "${container}"`);
    }
    const permissions = volume.readOnly === true ? 'r' : 'mrw';
    return { containerPath: devicePath, hostPath: volume.hostPath, permissions };
  });
}
