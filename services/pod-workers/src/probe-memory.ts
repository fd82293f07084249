import type { ContainerProbes, Pod, PodProbes, ProbeResult } from '@kubus/contracts';
import { type ProbeResults, containersOf } from '@kubus/pod-lifecycle';

const KINDS = ['startup', 'liveness', 'readiness'] as const;

/**
 * What the probes of a pod's containers said last, by container id. It outlives the prober and this process, so that a
 * ready pod stays ready: a result holds until the prober comes to another one, and `unknown` is none.
 */
export class ProbeMemory {
  readonly #results: Map<string, ContainerProbes>;

  constructor(recorded: Readonly<Record<string, ContainerProbes>> = {}) {
    this.#results = new Map(Object.entries(recorded));
  }

  /** Takes in what the prober says now. Returns which kinds of probes have come to another result. */
  learn({ containers }: Pick<PodProbes, 'containers'>): readonly (keyof ContainerProbes)[] {
    const changed = new Set<keyof ContainerProbes>();
    for (const [id, said] of Object.entries(containers)) {
      const known = { ...this.#results.get(id) };
      for (const kind of KINDS) {
        const result = said[kind];
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
   * Takes from a pod's status what its probes had said to another agent, where nothing else is known: a container that was ready is ready
   * until a probe says otherwise (kubelet behaviour 1.11, restart).
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

  /** Forgets containers that are gone. */
  keepOnly(ids: ReadonlySet<string>): void {
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
