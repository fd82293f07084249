import type { DeviceAllocation, DeviceResource } from '@kubus/contracts';
import type { NodePod } from '@kubus/node-pods';
import { isTerminal } from '@kubus/pod-status';
import type {
  AllocatableResourcesResponse,
  ContainerDevices,
  ContainerResources,
  PodResources,
} from '@kubus/proto/pod-resources-grpc';

/** Of one device, or of a device that a container has. */
type KnownDevice = DeviceAllocation['containers'][number]['resources'][number]['devices'][number];

/** Looks up what the containers of a pod have been given. */
export type DevicesOfPod = (uid: string) => DeviceAllocation | undefined;

/** Pods that are not over (kubelet behaviour 1.22, Pod resources), with what their containers have. */
export function listedPods(pods: readonly NodePod[], devicesOf: DevicesOfPod): PodResources[] {
  return pods.filter(({ status }) => !isTerminal(status?.phase)).map((one) => podResources(one, devicesOf));
}

/** What the containers of a pod have. Init containers that end are none of them. */
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

/** The devices that pods may have, whoever has them now. No processors or memory are set apart. */
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
