import type { Bus, FactReader } from '@kubus/bus';
import { type DeviceAllocation, type DeviceResource, deviceAllocation, deviceResource } from '@kubus/contracts';

/** What the node API knows of the devices of device plugins. */
export class DeviceFacts {
  readonly #resources: FactReader<DeviceResource>;
  readonly #allocations: FactReader<DeviceAllocation>;

  constructor(bus: Bus) {
    this.#resources = bus.reader(deviceResource);
    this.#allocations = bus.reader(deviceAllocation);
  }

  resources(): readonly DeviceResource[] {
    return [...this.#resources].map(({ value }) => value);
  }

  /** The devices that a pod's containers were allocated; undefined when there are none. */
  of(pod: string): DeviceAllocation | undefined {
    return this.#allocations.get(pod)?.value;
  }
}
