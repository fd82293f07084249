import type { ClaimUse, DeviceAllocation, DeviceResource, NodeTopology } from '@kubus/contracts';
import { containerClaimNames } from '@kubus/dra';
import { parseCpuSet } from '@kubus/exclusive';
import type { NodePod } from '@kubus/node-requests';
import { isTerminal } from '@kubus/pod-status';
import type {
  AllocatableResourcesResponse,
  ContainerDevices,
  ContainerMemory,
  ContainerResources,
  DynamicResource,
  PodResources,
  TopologyInfo,
} from '@kubus/proto/pod-resources-grpc';

/** A device of a plugin, or a device that was allocated to a container. */
type KnownDevice = DeviceAllocation['containers'][number]['resources'][number]['devices'][number];

/** Looks up what a pod has. */
interface HadByPods {
  /** The devices that were allocated to its containers. */
  of(uid: string): DeviceAllocation | undefined;
  /** The resource claims that it uses. */
  claimsOf(uid: string): ClaimUse['claims'];
  /** What of the machine containers have for themselves. */
  topology(): Pick<NodeTopology, 'containers'> | undefined;
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
  const own = (had.topology()?.containers ?? []).filter(({ uid }) => uid === metadata.uid);
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
      const { cpus, memory = [] } = own.find((one) => one.name === name) ?? {};
      const memoryOf = memory.map(({ resource, bytes, nodes }) => memoryEntry(resource, bytes, numbers(nodes)));
      return { name, devices, cpuIds: texts(numbers(cpus)), memory: memoryOf, dynamicResources };
    }),
  };
}

/** What version v1alpha1 says of a pod, ended or not: the devices of its containers, init containers apart. */
export function podDevices(one: NodePod, had: HadByPods): PodResources {
  const { name, namespace, containers } = podResources(one, had);
  const own = new Set(one.pod.spec.containers.map((container) => container.name));
  const nothing = { cpuIds: [], memory: [], dynamicResources: [] };
  return {
    ...{ name, namespace },
    containers: containers
      .filter((container) => own.has(container.name))
      .map((container) => ({
        ...{ name: container.name, ...nothing },
        devices: container.devices.map((device) => ({ ...device, topology: undefined })),
      })),
  };
}

/**
 * The devices, CPUs and memory of NUMA nodes that pods may have, allocated or not. Without a policy of the CPU or the memory manager nobody
 * can have CPUs or memory.
 */
export function allocatableResources(
  resources: readonly DeviceResource[],
  topology: Pick<NodeTopology, 'machine' | 'reserved' | 'memory'> | undefined,
): AllocatableResourcesResponse {
  const devices = resources
    .filter(({ gone }) => !gone)
    .flatMap(({ resource, devices: all }) =>
      all.filter(({ healthy }) => healthy).map((device) => deviceEntry(resource, device)),
    );
  const { machine, reserved, memory = [] } = topology ?? {};
  const taken = new Set(numbers(reserved));
  const all = reserved === undefined ? [] : (machine?.sockets ?? []).flatMap(({ cpus }) => numbers(cpus));
  return {
    devices,
    cpuIds: texts(all.filter((id) => !taken.has(id))),
    memory: memory
      .filter(({ allocatable }) => allocatable > 0)
      .map(({ resource, allocatable, node }) => memoryEntry(resource, allocatable, [node])),
  };
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
  return { resourceName: resource, deviceIds: [id], topology: topology && nodesOf(topology.numaNodes) };
}

function memoryEntry(memoryType: string, bytes: number, nodes: readonly number[]): ContainerMemory {
  return { memoryType, size: String(bytes), topology: nodesOf(nodes) };
}

function nodesOf(nodes: readonly number[]): TopologyInfo {
  return { nodes: nodes.map((node) => ({ ID: String(node) })) };
}

function numbers(list = ''): readonly number[] {
  return parseCpuSet(list) ?? [];
}

function texts(ids: readonly number[]): string[] {
  return ids.map(String);
}
