import { type PodSpec, type Quantity, parseQuantity } from '@kubus/contracts';

/** Sums of quantities by resource name. */
export type ResourceTotals = ReadonlyMap<string, Quantity>;

export function isHugePages(resource: string): boolean {
  return resource.startsWith('hugepages-');
}

/** Resources that can be requested at pod level (KEP-2837). */
export function isPodLevelResource(resource: string): boolean {
  return resource === 'cpu' || resource === 'memory' || isHugePages(resource);
}

/** Resources whose limit may exceed the request: those of Kubernetes itself except huge pages. */
export function isOvercommitted(resource: string): boolean {
  return (!resource.includes('/') || resource.includes('kubernetes.io/')) && !isHugePages(resource);
}

/**
 * The total resources of a pod's containers: those of regular containers and sidecars together, or those of an init container
 * and the sidecars before it, whichever is greater. Text that is not a quantity counts as zero.
 * Source: AggregateContainerRequests and AggregateContainerLimits of k8s.io/component-helpers/resource.
 */
export function aggregateResources(spec: PodSpec, kind: 'requests' | 'limits'): ResourceTotals {
  const running = new Map<string, Quantity>();
  const sidecars = new Map<string, Quantity>();
  const starting = new Map<string, Quantity>();
  for (const container of spec.containers) add(running, quantities(container.resources?.[kind]));
  for (const container of spec.initContainers ?? []) {
    const own = quantities(container.resources?.[kind]);
    if (container.restartPolicy === 'Always') {
      add(running, own);
      add(sidecars, own);
      keepGreatest(starting, sidecars);
    } else {
      const together = new Map(sidecars);
      add(together, own);
      keepGreatest(starting, together);
    }
  }
  keepGreatest(running, starting);
  return running;
}

function quantities(list: Readonly<Record<string, string>> | undefined): Map<string, Quantity> {
  const read = new Map<string, Quantity>();
  for (const [name, text] of Object.entries(list ?? {})) {
    const quantity = parseQuantity(text);
    if (quantity !== undefined) read.set(name, quantity);
  }
  return read;
}

function add(totals: Map<string, Quantity>, more: ResourceTotals): void {
  for (const [name, quantity] of more) {
    const total = totals.get(name);
    totals.set(name, total === undefined ? quantity : { ...total, nano: total.nano + quantity.nano });
  }
}

function keepGreatest(totals: Map<string, Quantity>, others: ResourceTotals): void {
  for (const [name, quantity] of others) {
    if (quantity.nano > (totals.get(name)?.nano ?? -1n)) totals.set(name, quantity);
  }
}
