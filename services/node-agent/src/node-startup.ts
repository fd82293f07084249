import type { Metrics } from '@kubus/service-kit';

/** When something happened first, in milliseconds since the Unix epoch. */
interface Moments {
  readonly booted: number;
  readonly started: number;
  attempted?: number;
  registered?: number;
  ready?: number;
}

/**
 * How long it takes from the machine's start until its node is there and ready, as the reference measures it (kubelet behaviour
 * 6.1): of a node that is new to its cluster. Until something has happened, and for a node that was there, it is 0.
 */
export class NodeStartup {
  readonly #now: () => number;
  readonly #at: Moments;

  /** @param options.uptimeSeconds how long the machine runs */
  constructor({ now, uptimeSeconds }: { now: () => number; uptimeSeconds: number }) {
    this.#now = now;
    const started = now();
    this.#at = { booted: started - uptimeSeconds * 1000, started };
  }

  /** The node is about to be made. */
  attempts(): void {
    this.#at.attempted ??= this.#now();
  }

  /** It was made. */
  registered(): void {
    if (this.#at.attempted !== undefined) this.#at.registered ??= this.#now();
  }

  /** It was said of it that it is ready. */
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
    gauge('pre_registration_duration_seconds', 'From the program’s start until the node is to be made.', (at) => [
      at.started,
      at.attempted,
    ]);
    gauge('registration_duration_seconds', 'How long it took to make the node.', (at) => [at.attempted, at.registered]);
    gauge('post_registration_duration_seconds', 'From then until the node was ready.', (at) => [
      at.registered,
      at.ready,
    ]);
    gauge('duration_seconds', 'From the machine’s start until the node was ready.', (at) => [at.booted, at.ready]);
  }
}
