import { type Container, type Pod, isExtendedResource, parseQuantity, quantityUnits } from '@kubus/contracts';

/** What one container asks for. */
export interface ContainerRequest {
  readonly name: string;
  /** An `init` container ends before the next one starts, and others may get what it had. */
  readonly ends: boolean;
  /** Amounts by resource: those of its limits, with which requests of such resources are the same. */
  readonly counts: Readonly<Record<string, number>>;
}

/** What a pod's containers ask for of resources that somebody else than Kubernetes counts, in the order of their starts. */
export function deviceRequests({ spec }: Pick<Pod, 'spec'>): readonly ContainerRequest[] {
  const init = (spec.initContainers ?? []).map((one) => ({ ...requestOf(one), ends: one.restartPolicy !== 'Always' }));
  const regular = spec.containers.map((one) => ({ ...requestOf(one), ends: false }));
  return [...init, ...regular].filter(({ counts }) => Object.keys(counts).length > 0);
}

/**
 * Ids that the containers after this one may get (kubelet behaviour 1.21): also those that it has had, should it end before
 * they start, but none that it keeps.
 */
export function nextReusable(
  reusable: readonly string[],
  { ends }: Pick<ContainerRequest, 'ends'>,
  given: readonly string[],
): readonly string[] {
  return ends ? [...new Set([...reusable, ...given])] : reusable.filter((id) => !given.includes(id));
}

/** What the containers of a pod need at most at one time, by resource (topologyManagerScope `pod`). */
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

function requestOf({ name, resources }: Container): Omit<ContainerRequest, 'ends'> {
  const counts = Object.entries(resources?.limits ?? {}).flatMap(([resource, text]): [string, number][] => {
    const quantity = isExtendedResource(resource) ? parseQuantity(text) : undefined;
    const count = quantity === undefined ? 0 : Number(quantityUnits(quantity));
    return count > 0 ? [[resource, count]] : [];
  });
  return { name, counts: Object.fromEntries(counts) };
}
