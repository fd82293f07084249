import type { DeviceAllocation, DeviceResource } from '@kubus/contracts';
import type { NodePod } from '@kubus/node-requests';
import { isTerminal } from '@kubus/pod-status';
import type {
  AllocatableResourcesResponse,
  ContainerDevices,
  ContainerResources,
  PodResources,
} from '@kubus/proto/pod-resources-grpc';

/** A device of a plugin, or a device that was allocated to a container. */
type KnownDevice = DeviceAllocation['containers'][number]['resources'][number]['devices'][number];

/** Looks up the devices that were allocated to the containers of a pod. */
export type DevicesOfPod = (uid: string) => DeviceAllocation | undefined;

/** Pods that have not ended (behaviour:plugins, Pod resources), with the resources of their containers. */
export function listedPods(pods: readonly NodePod[], devicesOf: DevicesOfPod): PodResources[] {
  return pods.filter(({ status }) => !isTerminal(status?.phase)).map((one) => podResources(one, devicesOf));
}

/** The resources of a pod's containers. Init containers that end are left out. */
export function podResources({ pod: { metadata, spec } }: NodePod, devicesOf: DevicesOfPod): PodResources {
  const sidecars = (spec.initContainers ?? []).filter(({ restartPolicy }) => restartPolicy === 'Always');
  const given = devicesOf(metadata.uid)?.containers ?? [];
  return {
    name: metadata.name,
    namespace: metadata.namespace,
    containers: [...sidecars, ...spec.containers].map(({ name }): ContainerResources => {
      const { resources = [] } = given.find((one) => one.name === name) ?? {};
      const devices = resources.flatMap((one) => one.devices.map((device) => deviceEntry(one.resource, device)));
      return { name, devices, cpuIds: [], memory: [], dynamicResources: [] };
    }),
  };
}

/** The devices that pods may use, allocated or not. CPUs and memory are not reserved. */
export function allocatableResources(resources: readonly DeviceResource[]): AllocatableResourcesResponse {
  const devices = resources
    .filter(({ gone }) => !gone)
    .flatMap(({ resource, devices: all }) =>
      all.filter(({ healthy }) => healthy).map((device) => deviceEntry(resource, device)),
    );
  return { devices, cpuIds: [], memory: [] };
}

function deviceEntry(resource: string, { id, topology }: KnownDevice): ContainerDevices {
  const nodes = topology?.numaNodes.map((node) => ({ ID: String(node) }));
  return { resourceName: resource, deviceIds: [id], topology: nodes && { nodes } };
}
