import type { ClaimDevice, NodeTopology } from '@kubus/contracts';
import type { TopologyFacts } from './topology-facts.ts';

/** Facts of a node whose machine is known. */
export interface KnownTopology extends TopologyFacts {
  readonly topology: NodeTopology;
  /** `namespace/name` of pods by their UID. */
  readonly pods: ReadonlyMap<string, string>;
}

/** Fields of the document NodeTopology. */
export interface TopologyView extends Omit<NodeTopology, 'containers'> {
  readonly containers: readonly (NodeTopology['containers'][number] & { readonly pod: string | undefined })[];
  readonly devices: readonly DeviceView[];
  readonly claims: readonly ClaimView[];
}

/** A device of a resource claim, and a pod that uses it. */
interface ClaimView extends Pick<ClaimDevice, 'pool' | 'device' | 'health' | 'healthMessage'> {
  readonly claim: string;
  readonly driver: string;
  readonly uid: string;
  readonly pod: string | undefined;
}

/** A device, and who has it. */
interface DeviceView {
  readonly resource: string;
  readonly id: string;
  readonly healthy: boolean;
  readonly numaNodes: readonly number[];
  /** Containers of one pod: of several, all but the last were init containers. */
  readonly owners: readonly { readonly uid: string; readonly pod: string | undefined; readonly container: string }[];
}

export function topologyView({ topology, resources, allocations, claims, pods }: KnownTopology): TopologyView {
  const owned = [...allocations].flatMap(([uid, { ref, containers }]) =>
    containers.flatMap(({ name: container, resources: given }) =>
      given.flatMap(({ resource, devices }) =>
        devices.map(({ id }) => {
          return { resource, id, owner: { uid, pod: `${ref.namespace}/${ref.name}`, container } };
        }),
      ),
    ),
  );
  const byName = resources.toSorted((a, b) => (a.resource < b.resource ? -1 : 1));
  return {
    ...topology,
    containers: topology.containers.map((one) => ({ ...one, pod: pods.get(one.uid) })),
    devices: byName.flatMap(({ resource, devices, gone }) =>
      devices.map(({ id, healthy, topology: place }) => ({
        ...{ resource, id, healthy: healthy && !gone, numaNodes: place?.numaNodes ?? [] },
        owners: owned.filter((one) => one.resource === resource && one.id === id).map(({ owner }) => owner),
      })),
    ),
    claims: [...claims].flatMap(([uid, use]) =>
      use.claims.flatMap(({ name: claim, drivers }) =>
        drivers.flatMap(({ driver, devices }) =>
          devices.map(({ pool, device, health, healthMessage }) => ({
            ...{ claim, driver, pool, device, uid, pod: pods.get(uid) },
            ...(health !== undefined && { health }),
            ...(healthMessage !== undefined && { healthMessage }),
          })),
        ),
      ),
    ),
  };
}
