import type { Bus, Cause, FactReader } from '@kubus/bus';
import { type DeviceAllocation, type DeviceResource, deviceAllocation, deviceResource } from '@kubus/contracts';
import { deviceHealth } from '@kubus/device-manager';

/** The devices of the node's pods, as far as they are known. */
export class DeviceFacts {
  readonly #allocations: FactReader<DeviceAllocation>;
  readonly #resources: FactReader<DeviceResource>;

  /** @param changed called when the devices of a pod become known or change. */
  constructor(bus: Bus, changed: (uid: string, cause: Cause) => void) {
    this.#allocations = bus.reader(deviceAllocation, { changed: ({ key, cause }) => changed(key, cause) });
    this.#resources = bus.reader(deviceResource, {
      changed: ({ key, cause }) => {
        for (const { key: uid, value } of this.#allocations) {
          const has = value.containers.some(({ resources }) => resources.some(({ resource }) => resource === key));
          if (has) changed(uid, cause);
        }
      },
    });
  }

  /** See {@link deviceHealth}; undefined: the pod has no devices. */
  health(uid: string): ReturnType<typeof deviceHealth> | undefined {
    const allocation = this.#allocations.get(uid)?.value;
    return allocation && deviceHealth(allocation, (resource) => this.#resources.get(resource)?.value);
  }
}
