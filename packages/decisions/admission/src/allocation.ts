import {
  type Container,
  type Pod,
  type PodAllocation,
  type PodStatus,
  type ResourceList,
  type ResourceRequirements,
  parseQuantity,
} from '@kubus/contracts';

/** The resources that a pod requests, in the form in which an allocation is recorded. */
export function allocationOf({ metadata, spec }: Pick<Pod, 'metadata' | 'spec'>): PodAllocation {
  const containers = [...(spec.initContainers ?? []), ...spec.containers];
  return {
    ...(metadata.generation !== undefined && { generation: metadata.generation }),
    ...(spec.resources !== undefined && { pod: spec.resources }),
    containers: Object.fromEntries(containers.map(({ name, resources }) => [name, resources ?? {}])),
  };
}

/** The resources that a pod has according to its status. They may differ from the allocated ones during a resize. */
export function actualAllocation({ spec }: Pick<Pod, 'spec'>, status: PodStatus): PodAllocation {
  const statuses = [...(status.initContainerStatuses ?? []), ...(status.containerStatuses ?? [])];
  return {
    ...(spec.resources !== undefined && { pod: status.resources ?? spec.resources }),
    containers: Object.fromEntries(statuses.flatMap(({ name, resources }) => (resources ? [[name, resources]] : []))),
  };
}

/** Whether two allocations have the same amounts, however they are written and whichever generation requested them. */
export function sameAllocation(a: PodAllocation, b: PodAllocation): boolean {
  const names = new Set([...Object.keys(a.containers), ...Object.keys(b.containers)]);
  return (
    sameResources(a.pod, b.pod) && [...names].every((name) => sameResources(a.containers[name], b.containers[name]))
  );
}

/** Whether two containers, or pods, have the same requests and limits. */
export function sameResources(a: ResourceRequirements | undefined, b: ResourceRequirements | undefined): boolean {
  return sameList(a?.requests, b?.requests) && sameList(a?.limits, b?.limits);
}

/** The pod with its allocated resources. Returns the same object when these are the requested ones. */
export function withAllocation(pod: Pod, allocation: PodAllocation): Pod {
  if (sameAllocation(allocationOf(pod), allocation)) return pod;
  const { resources: _asked, ...spec } = pod.spec;
  const granted = <T extends Container>(container: T): T => {
    const resources = allocation.containers[container.name];
    return resources === undefined ? container : { ...container, resources };
  };
  return {
    ...pod,
    spec: {
      ...spec,
      ...(allocation.pod !== undefined && { resources: allocation.pod }),
      ...(spec.initContainers !== undefined && { initContainers: spec.initContainers.map(granted) }),
      containers: spec.containers.map(granted),
    },
  };
}

function sameList(a: ResourceList = {}, b: ResourceList = {}): boolean {
  const names = new Set([...Object.keys(a), ...Object.keys(b)]);
  return [...names].every((name) => nano(a[name]) === nano(b[name]));
}

function nano(text: string | undefined): bigint | undefined {
  return text === undefined ? undefined : parseQuantity(text)?.nano;
}
