import type { DeviceAllocation, DeviceResource, NodeTopology } from '@kubus/contracts';

/** Facts of a node, now or at a moment of a recording. */
export interface TopologyFacts {
  readonly topology: NodeTopology;
  readonly resources: readonly DeviceResource[];
  /** By the UID of the pod. */
  readonly allocations: ReadonlyMap<string, DeviceAllocation>;
  /** `namespace/name` of pods by their UID. */
  readonly pods: ReadonlyMap<string, string>;
}

/** Fields of the document NodeTopology. */
export interface TopologyView extends Omit<NodeTopology, 'containers'> {
  readonly containers: readonly (NodeTopology['containers'][number] & { readonly pod: string | undefined })[];
  readonly devices: readonly DeviceView[];
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

export function topologyView({ topology, resources, allocations, pods }: TopologyFacts): TopologyView {
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
  };
}
