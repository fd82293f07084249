import type { Bus, FactReader } from '@kubus/bus';
import {
  type ClaimUse,
  type DeviceAllocation,
  type DeviceResource,
  type NodeTopology,
  claimUse,
  deviceAllocation,
  deviceResource,
  nodeTopology,
} from '@kubus/contracts';

/** What the node API knows of the devices of device plugins, of resource claims, and of what containers have for themselves. */
export class DeviceFacts {
  readonly #resources: FactReader<DeviceResource>;
  readonly #allocations: FactReader<DeviceAllocation>;
  readonly #claims: FactReader<ClaimUse>;
  readonly #topologies: FactReader<NodeTopology>;

  constructor(bus: Bus) {
    this.#resources = bus.reader(deviceResource);
    this.#allocations = bus.reader(deviceAllocation);
    this.#claims = bus.reader(claimUse);
    this.#topologies = bus.reader(nodeTopology);
  }

  resources(): readonly DeviceResource[] {
    return [...this.#resources].map(({ value }) => value);
  }

  /** The machine, and who has CPUs and memory of it; undefined: not known yet. */
  topology(): NodeTopology | undefined {
    const [topology] = this.#topologies;
    return topology?.value;
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
