import { type Container, type Pod, isExtendedResource, parseQuantity, quantityUnits } from '@kubus/contracts';

/** What one container requests. */
export interface ContainerRequest {
  readonly name: string;
  /** An `init` container ends before the next one starts, and other containers may get its devices. */
  readonly ends: boolean;
  /** Amounts by resource, from its limits; for such resources the requests are equal to the limits. */
  readonly counts: Readonly<Record<string, number>>;
}

/** The extended resources that a pod's containers request, in the order in which the containers start. */
export function deviceRequests({ spec, status }: Pick<Pod, 'spec' | 'status'>): readonly ContainerRequest[] {
  const isClaimed: IsClaimed = (container, resource) => isClaimedResource({ status }, container, resource);
  const init = (spec.initContainers ?? []).map((one) => ({
    ...requestOf(one, isClaimed),
    ends: one.restartPolicy !== 'Always',
  }));
  const regular = spec.containers.map((one) => ({ ...requestOf(one, isClaimed), ends: false }));
  return [...init, ...regular].filter(({ counts }) => Object.keys(counts).length > 0);
}

/**
 * Ids that the containers after this one may get (behaviour:resource-managers). They include its own ids if it ends before
 * the others start, but none that it keeps.
 */
export function nextReusable(
  reusable: readonly string[],
  { ends }: Pick<ContainerRequest, 'ends'>,
  given: readonly string[],
): readonly string[] {
  return ends ? [...new Set([...reusable, ...given])] : reusable.filter((id) => !given.includes(id));
}

/** The greatest amounts that the containers of a pod need at the same time, by resource (topologyManagerScope `pod`). */
export function podCounts(requests: readonly Pick<ContainerRequest, 'ends' | 'counts'>[]): Record<string, number> {
  const kept: Record<string, number> = {};
  const most: Record<string, number> = {};
  for (const { ends, counts } of requests) {
    for (const [resource, count] of Object.entries(counts)) {
      const now = (kept[resource] ?? 0) + count;
      if (!ends) kept[resource] = now;
      most[resource] = Math.max(most[resource] ?? 0, now);
    }
  }
  return most;
}

/** Whether a claim stands for this resource of a container (KEP-5004): no device plugin serves it, and none of its devices is occupied. */
export function isClaimedResource({ status }: Pick<Pod, 'status'>, container: string, resource: string): boolean {
  const mappings = status?.extendedResourceClaimStatus?.requestMappings ?? [];
  return mappings.some((one) => one.containerName === container && one.resourceName === resource);
}

type IsClaimed = (container: string, resource: string) => boolean;

function requestOf({ name, resources }: Container, isClaimed: IsClaimed): Omit<ContainerRequest, 'ends'> {
  const counts = Object.entries(resources?.limits ?? {}).flatMap(([resource, text]): [string, number][] => {
    const isDevice = isExtendedResource(resource) && !isClaimed(name, resource);
    const quantity = isDevice ? parseQuantity(text) : undefined;
    const count = quantity === undefined ? 0 : Number(quantityUnits(quantity));
    return count > 0 ? [[resource, count]] : [];
  });
  return { name, counts: Object.fromEntries(counts) };
}
