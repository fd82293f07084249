import type { Bus, FactReader } from '@kubus/bus';
import type { TopologyFacts } from '@kubus/causality';
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

/** The node's machine and who has what of it, now: in a recording that grows, what it never says is as it is now. */
export class NowTopology {
  readonly #topologies: FactReader<NodeTopology>;
  readonly #resources: FactReader<DeviceResource>;
  readonly #allocations: FactReader<DeviceAllocation>;
  readonly #claims: FactReader<ClaimUse>;

  constructor(bus: Bus) {
    this.#topologies = bus.reader(nodeTopology);
    this.#resources = bus.reader(deviceResource);
    this.#allocations = bus.reader(deviceAllocation);
    this.#claims = bus.reader(claimUse);
  }

  facts(): TopologyFacts {
    const [topology] = [...this.#topologies].map(({ value }) => value);
    return {
      topology,
      resources: [...this.#resources].map(({ value }) => value),
      allocations: new Map([...this.#allocations].map(({ key, value }) => [key, value])),
      claims: new Map([...this.#claims].map(({ key, value }) => [key, value])),
    };
  }
}
