import type { ContainerRequest, PodRequest } from '@kubus/exclusive';
import { Tally } from '@kubus/metrics';
import type { Metrics } from '@kubus/service-kit';

/** What one of the managers has given to the containers of a pod, or that it has refused. */
export interface Assigned {
  readonly resource: 'cpu' | 'memory';
  /** What they get is of the pod as a whole, or of the node. */
  readonly source: 'node' | 'pod';
  readonly containers: PodRequest['containers'];
  readonly isRefused: boolean;
}

/** The reference kubelet's metrics of what its managers give, by its source, which it has with the gate PodLevelResourceManagers. */
export class ResourceManagerMetrics {
  readonly #allocations = new Tally();
  readonly #errors = new Tally();
  readonly #assignments = new Tally();

  add({ resource, source, containers, isRefused }: Assigned): void {
    const by = { resource_name: resource, source };
    if (isRefused) this.#errors.add(by);
    for (const container of containers) {
      const count = countOf(container, resource);
      if (source === 'node' && count === undefined) continue;
      // The reference counts each kind of memory of the node, but each container of a pod once.
      this.#allocations.add(by, source === 'node' ? count : 1);
      const ofPod = (count ?? 0) > 0 ? 'pod_exclusive' : 'pod_shared';
      this.#assignments.add({
        resource_name: resource,
        assignment_type: source === 'node' ? 'node_exclusive' : ofPod,
      });
    }
  }

  show(metrics: Metrics): void {
    for (const [name, help, tally] of [
      ['allocations_total', 'What managers have given to containers, by resource and source.', this.#allocations],
      ['allocation_errors_total', 'What managers have refused, by resource and source.', this.#errors],
      ['container_assignments', 'Containers that have got something, by resource and kind.', this.#assignments],
    ] as const) {
      metrics.add({ type: 'counter', name: `resource_manager_${name}`, help, collect: () => tally.samples });
    }
  }
}

/** 1 for CPUs for itself, or how many kinds of memory; undefined: the manager has nothing to do with the container. */
function countOf({ cpus, memory }: ContainerRequest, resource: Assigned['resource']): number | undefined {
  if (resource === 'cpu') return cpus > 0 ? 1 : undefined;
  return memory && Object.keys(memory).length;
}
