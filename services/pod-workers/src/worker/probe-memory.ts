import type { ContainerProbes, Pod, PodProbes, ProbeResult, RuntimePod } from '@kubus/contracts';
import { type ProbeResults, containersOf } from '@kubus/pod-lifecycle';

const KINDS = ['startup', 'liveness', 'readiness'] as const;

/**
 * The last results of the probes of a pod's containers, by container ID. It outlives the prober and this process, so that a
 * ready pod stays ready: a result is kept until the prober publishes another one, and `unknown` does not count.
 */
export class ProbeMemory {
  readonly #results: Map<string, ContainerProbes>;

  constructor(recorded: Readonly<Record<string, ContainerProbes>> = {}) {
    this.#results = new Map(Object.entries(recorded));
  }

  /** Stores what the prober has published. Returns the kinds of probes whose results have changed. */
  learn({ containers }: Pick<PodProbes, 'containers'>): readonly (keyof ContainerProbes)[] {
    const changed = new Set<keyof ContainerProbes>();
    for (const [id, published] of Object.entries(containers)) {
      const known = { ...this.#results.get(id) };
      for (const kind of KINDS) {
        const result = published[kind];
        if (result === undefined || result === known[kind]) continue;
        if (result === 'unknown' && known[kind] !== undefined) continue;
        known[kind] = result;
        changed.add(kind);
      }
      this.#results.set(id, known);
    }
    return [...changed];
  }

  /**
   * Takes another agent's probe results from a pod's status, where nothing else is known: a container that was
   * ready is ready until a probe fails (behaviour:probes, restart).
   */
  recall(pod: Pod): void {
    const { containerStatuses = [], initContainerStatuses = [] } = pod.status ?? {};
    const specs = new Map(containersOf(pod).map(({ container }) => [container.name, container]));
    for (const { name, state, containerID = '', started, ready } of [...initContainerStatuses, ...containerStatuses]) {
      const id = containerID.slice(containerID.indexOf('://') + 3);
      if (state?.running === undefined || id === '') continue;
      const { startupProbe, readinessProbe } = specs.get(name) ?? {};
      const known: ContainerProbes = {
        ...(startupProbe !== undefined && started && { startup: 'success' }),
        ...(readinessProbe !== undefined && ready && { readiness: 'success' }),
        ...this.#results.get(id),
      };
      if (Object.keys(known).length > 0) this.#results.set(id, known);
    }
  }

  /** Forgets containers that neither the runtime has nor the prober; nothing while the pod has not been read. */
  keepOnly(
    runtime: { readonly containers: readonly Pick<RuntimePod['containers'][number], 'id'>[] } | undefined,
    probes: Pick<PodProbes, 'containers'> | undefined,
  ): void {
    if (runtime === undefined) return;
    const ids = new Set([...runtime.containers.map(({ id }) => id), ...Object.keys(probes?.containers ?? {})]);
    for (const id of this.#results.keys()) if (!ids.has(id)) this.#results.delete(id);
  }

  get results(): ProbeResults {
    const of = (kind: keyof ContainerProbes) =>
      new Map(
        [...this.#results].flatMap(([id, { [kind]: result }]): [string, ProbeResult][] =>
          result === undefined ? [] : [[id, result]],
        ),
      );
    return { startup: of('startup'), liveness: of('liveness'), readiness: of('readiness') };
  }

  toRecord(): Record<string, ContainerProbes> {
    return Object.fromEntries(this.#results);
  }
}
