import type { ContainerStatus, DeviceAllocation, DeviceResource } from '@kubus/contracts';

type DeviceHealth = NonNullable<ContainerStatus['allocatedResourcesStatus']>;

/**
 * How the devices of a pod are, by container, as its status tells it (KEP-4680). A device of which its plugin does not speak
 * counts as healthy, as it does for the reference.
 */
export function deviceHealth(
  { containers }: Pick<DeviceAllocation, 'containers'>,
  resourceOf: (name: string) => Pick<DeviceResource, 'devices'> | undefined,
): ReadonlyMap<string, DeviceHealth> {
  return new Map(
    containers.map(({ name, resources }) => [
      name,
      resources.map(({ resource, devices }) => ({
        name: resource,
        resources: devices.map(({ id }) => {
          const told = resourceOf(resource)?.devices.find((device) => device.id === id);
          return { resourceID: id, health: told?.healthy === false ? 'Unhealthy' : 'Healthy' };
        }),
      })),
    ]),
  );
}
