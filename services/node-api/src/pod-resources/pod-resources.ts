import type { ClaimUse, DeviceAllocation, DeviceResource } from '@kubus/contracts';
import { containerClaimNames } from '@kubus/dra';
import type { NodePod } from '@kubus/node-requests';
import { isTerminal } from '@kubus/pod-status';
import type {
  AllocatableResourcesResponse,
  ContainerDevices,
  ContainerResources,
  DynamicResource,
  PodResources,
} from '@kubus/proto/pod-resources-grpc';

/** A device of a plugin, or a device that was allocated to a container. */
type KnownDevice = DeviceAllocation['containers'][number]['resources'][number]['devices'][number];

/** Looks up what a pod has. */
interface HadByPods {
  /** The devices that were allocated to its containers. */
  of(uid: string): DeviceAllocation | undefined;
  /** The resource claims that it uses. */
  claimsOf(uid: string): ClaimUse['claims'];
}

/** Pods that have not ended (behaviour:plugins, Pod resources), with the resources of their containers. */
export function listedPods(pods: readonly NodePod[], had: HadByPods): PodResources[] {
  return pods.filter(({ status }) => !isTerminal(status?.phase)).map((one) => podResources(one, had));
}

/** The resources of a pod's containers. Init containers that end are left out. */
export function podResources({ pod }: NodePod, had: HadByPods): PodResources {
  const { metadata, spec } = pod;
  const claims = had.claimsOf(metadata.uid);
  const sidecars = (spec.initContainers ?? []).filter(({ restartPolicy }) => restartPolicy === 'Always');
  const given = had.of(metadata.uid)?.containers ?? [];
  return {
    name: metadata.name,
    namespace: metadata.namespace,
    containers: [...sidecars, ...spec.containers].map((container): ContainerResources => {
      const { name } = container;
      const { resources = [] } = given.find((one) => one.name === name) ?? {};
      const devices = resources.flatMap((one) => one.devices.map((device) => deviceEntry(one.resource, device)));
      const names = containerClaimNames(pod, container);
      const dynamicResources = claims
        .filter((claim) => names.includes(claim.name))
        .map((claim) => dynamicResource(metadata.namespace, claim));
      return { name, devices, cpuIds: [], memory: [], dynamicResources };
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

function dynamicResource(claimNamespace: string, { name, drivers }: ClaimUse['claims'][number]): DynamicResource {
  const claimResources = drivers.flatMap(({ driver, devices }) =>
    devices.map(({ pool, device, shareId, cdiDevices }) => ({
      ...{ driverName: driver, poolName: pool, deviceName: device, shareId },
      cdiDevices: cdiDevices.map((cdi) => ({ name: cdi })),
    })),
  );
  return { claimName: name, claimNamespace, claimResources };
}

function deviceEntry(resource: string, { id, topology }: KnownDevice): ContainerDevices {
  const nodes = topology?.numaNodes.map((node) => ({ ID: String(node) }));
  return { resourceName: resource, deviceIds: [id], topology: nodes && { nodes } };
}
