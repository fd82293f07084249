import type { ContainerStatus, DeviceAllocation, DeviceResource } from '@kubus/contracts';

type DeviceHealth = NonNullable<ContainerStatus['allocatedResourcesStatus']>;

/**
 * The health of a pod's devices by container, as its status reports it (KEP-4680). A device that its plugin does not report
 * counts as healthy, as in the reference kubelet.
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
          const reported = resourceOf(resource)?.devices.find((device) => device.id === id);
          return { resourceID: id, health: reported?.healthy === false ? 'Unhealthy' : 'Healthy' };
        }),
      })),
    ]),
  );
}
