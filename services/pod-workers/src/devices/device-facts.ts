import type { Bus, Cause, FactReader } from '@kubus/bus';
import {
  type ClaimUse,
  type ContainerStatus,
  type DeviceAllocation,
  type DeviceResource,
  type Pod,
  claimUse,
  deviceAllocation,
  deviceResource,
} from '@kubus/contracts';
import { deviceHealth } from '@kubus/device-manager';
import { claimHealth } from '@kubus/dra';

/** The devices of the node's pods, as far as they are known. */
export class DeviceFacts {
  readonly #allocations: FactReader<DeviceAllocation>;
  readonly #resources: FactReader<DeviceResource>;
  readonly #claims: FactReader<ClaimUse>;

  /** @param changed called when the devices of a pod become known or change. */
  constructor(bus: Bus, changed: (uid: string, cause: Cause) => void) {
    this.#allocations = bus.reader(deviceAllocation, { changed: ({ key, cause }) => changed(key, cause) });
    this.#claims = bus.reader(claimUse, { changed: ({ key, cause }) => changed(key, cause) });
    this.#resources = bus.reader(deviceResource, {
      changed: ({ key, cause }) => {
        for (const { key: uid, value } of this.#allocations) {
          const has = value.containers.some(({ resources }) => resources.some(({ resource }) => resource === key));
          if (has) changed(uid, cause);
        }
      },
    });
  }

  /** The health of the pod's devices and claims, by container; undefined: it has none. See {@link deviceHealth} and {@link claimHealth}. */
  health(pod: Pod): ReadonlyMap<string, ContainerStatus['allocatedResourcesStatus']> | undefined {
    const allocation = this.#allocations.get(pod.metadata.uid)?.value;
    const ofDevices = allocation && deviceHealth(allocation, (resource) => this.#resources.get(resource)?.value);
    const use = this.#claims.get(pod.metadata.uid)?.value;
    if (use === undefined) return ofDevices;
    const all = pod.spec.containers.map((container): [string, ContainerStatus['allocatedResourcesStatus']] => [
      container.name,
      [...(ofDevices?.get(container.name) ?? []), ...claimHealth(pod, container, use.claims)],
    ]);
    return new Map(all.filter(([, health]) => health !== undefined && health.length > 0));
  }
}
