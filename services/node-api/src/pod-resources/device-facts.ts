import type { Bus, FactReader } from '@kubus/bus';
import {
  type ClaimUse,
  type DeviceAllocation,
  type DeviceResource,
  claimUse,
  deviceAllocation,
  deviceResource,
} from '@kubus/contracts';

/** What the node API knows of the devices of device plugins, and of resource claims. */
export class DeviceFacts {
  readonly #resources: FactReader<DeviceResource>;
  readonly #allocations: FactReader<DeviceAllocation>;
  readonly #claims: FactReader<ClaimUse>;

  constructor(bus: Bus) {
    this.#resources = bus.reader(deviceResource);
    this.#allocations = bus.reader(deviceAllocation);
    this.#claims = bus.reader(claimUse);
  }

  resources(): readonly DeviceResource[] {
    return [...this.#resources].map(({ value }) => value);
  }

  /** The devices that a pod's containers were allocated; undefined when there are none. */
  of(pod: string): DeviceAllocation | undefined {
    return this.#allocations.get(pod)?.value;
  }

  /** The resource claims that a pod uses. */
  claimsOf(pod: string): ClaimUse['claims'] {
    return this.#claims.get(pod)?.value.claims ?? [];
  }
}
