import type { Metrics } from '@kubus/service-kit';

/** When something first happened, in milliseconds since the Unix epoch. */
interface Moments {
  readonly booted: number;
  readonly started: number;
  attempted?: number;
  registered?: number;
  ready?: number;
}

/**
 * Time from the machine's start until its node is registered and ready, as the reference measures it
 * (behaviour:agent-metrics), for a node that is new to its cluster. 0 until something has happened, and for a node that
 * existed before.
 */
export class NodeStartup {
  readonly #now: () => number;
  readonly #at: Moments;

  /** @param options.uptimeSeconds how long the machine has been running */
  constructor({ now, uptimeSeconds }: { now: () => number; uptimeSeconds: number }) {
    this.#now = now;
    const started = now();
    this.#at = { booted: started - uptimeSeconds * 1000, started };
  }

  /** The node is about to be registered. */
  attempts(): void {
    this.#at.attempted ??= this.#now();
  }

  /** It was registered. */
  registered(): void {
    if (this.#at.attempted !== undefined) this.#at.registered ??= this.#now();
  }

  /** It was reported as ready. */
  ready(): void {
    if (this.#at.registered !== undefined) this.#at.ready ??= this.#now();
  }

  show(metrics: Metrics): void {
    const gauge = (name: string, help: string, between: (at: Moments) => readonly (number | undefined)[]) => {
      const collect = () => {
        const [from, until] = between(this.#at);
        const isNew = this.#at.registered !== undefined;
        return isNew && from !== undefined && until !== undefined ? (until - from) / 1000 : 0;
      };
      metrics.add({ type: 'gauge', name: `kubelet_node_startup_${name}`, help, collect });
    };
    gauge('pre_kubelet_duration_seconds', 'From the machine’s start to this program’s.', (at) => [
      at.booted,
      at.started,
    ]);
    gauge('pre_registration_duration_seconds', 'From the program’s start until registration starts.', (at) => [
      at.started,
      at.attempted,
    ]);
    gauge('registration_duration_seconds', 'Duration of the registration.', (at) => [at.attempted, at.registered]);
    gauge('post_registration_duration_seconds', 'From the registration until the node was ready.', (at) => [
      at.registered,
      at.ready,
    ]);
    gauge('duration_seconds', 'From the machine’s start until the node was ready.', (at) => [at.booted, at.ready]);
  }
}
