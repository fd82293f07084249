import type { Bus, FactOwner } from '@kubus/bus';
import {
  type Container,
  type ContainerProbes,
  type PodProbes,
  type PodWork,
  type RuntimePod,
  podProbes,
  podWork,
  runtimePod,
  serviceShare,
} from '@kubus/contracts';
import { containersOf } from '@kubus/pod-lifecycle';
import type { Clock, Random } from '@kubus/ports';

/**
 * A prober whose results follow from the container's name, some time after the container has started. It keeps nothing
 * from one life to the next, and publishes that: a ready pod must stay ready without it.
 */
export class SimulatedProber {
  readonly #clock: Clock;
  readonly #random: Random;
  readonly #facts: FactOwner<PodProbes>;
  readonly #works = new Map<string, PodWork>();
  readonly #pods = new Map<string, RuntimePod>();
  readonly #results = new Map<string, Map<string, ContainerProbes>>();
  readonly #onStartup: (containerId: string) => void;

  /** @param options.onStartup called when a passed startup probe of a container is about to be published. */
  constructor(options: { bus: Bus; clock: Clock; random: Random; onStartup: (containerId: string) => void }) {
    const { bus } = options;
    this.#clock = options.clock;
    this.#random = options.random;
    this.#onStartup = options.onStartup;
    this.#facts = bus.owner(podProbes);
    // There is only this instance, so it owns every pod.
    bus.reader(serviceShare);
    bus.reader(podProbes);
    bus.reader(podWork, {
      changed: ({ key, value }) => {
        this.#works.set(key, value);
        this.#look(key);
      },
    });
    bus.reader(runtimePod, {
      changed: ({ key, value }) => {
        this.#pods.set(key, value);
        this.#look(key);
      },
      removed: ({ key }) => {
        if (this.#results.delete(key)) this.#facts.remove(key, { pod: key });
      },
    });
  }

  #look(uid: string): void {
    const spec = this.#works.get(uid)?.pod;
    const pod = this.#pods.get(uid);
    if (spec === undefined || pod === undefined) return;
    for (const { container } of containersOf(spec)) {
      for (const { id, name, state, attempt } of pod.containers) {
        if (name === container.name && state === 'running' && isProbed(container))
          this.#begin(pod, container, id, attempt);
      }
    }
  }

  #begin({ ref }: RuntimePod, container: Container, id: string, attempt: number): void {
    const results = this.#results.get(ref.uid) ?? new Map<string, ContainerProbes>();
    if (results.has(id)) return;
    this.#results.set(ref.uid, results);
    const publish = () => this.#facts.put(ref.uid, { ref, containers: Object.fromEntries(results) }, { pod: ref.uid });
    results.set(id, resultsOf(container, 'unknown', 'unknown'));
    publish();
    this.#clock.after(this.#random.between(50, 3_000), () => {
      if (this.#results.get(ref.uid) !== results) return;
      results.set(id, resultsOf(container, 'success', attempt === 0 ? 'failure' : 'success'));
      if (container.startupProbe !== undefined) this.#onStartup(id);
      publish();
    });
  }
}

function isProbed({ livenessProbe, readinessProbe, startupProbe }: Container): boolean {
  return livenessProbe !== undefined || readinessProbe !== undefined || startupProbe !== undefined;
}

function resultsOf(
  container: Container,
  result: 'success' | 'unknown',
  liveness: 'success' | 'failure' | 'unknown',
): ContainerProbes {
  return {
    ...(container.startupProbe !== undefined && { startup: result }),
    ...(container.readinessProbe !== undefined && { readiness: result }),
    ...(container.livenessProbe !== undefined && { liveness }),
  };
}
