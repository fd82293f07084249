import { type NodeState, ShutdownOrder, type ShutdownPeriod, shutdownGrace } from '@kubus/admission';
import { type Bus, type Cause, type FactOwner, parseTime } from '@kubus/bus';
import { nodeShutdown, shutdownProgress } from '@kubus/contracts';
import type { Cancel, Clock, Logger } from '@kubus/ports';

export interface ShutdownOptions {
  readonly bus: Bus;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly state: NodeState;
  /** Empty: the node does nothing before the machine shuts down. */
  readonly periods: readonly ShutdownPeriod[];
  /** Decides about these pods, or about all, and publishes it. */
  readonly decide: (uids: readonly string[] | 'all', causes: readonly Cause[]) => void;
}

/**
 * The end of the node's pods before the machine shuts down, group by group (behaviour:node-shutdown). It begins when all pods are known, so
 * that a restarted sync-loop goes on where the one before was.
 */
export class Shutdown {
  readonly #options: ShutdownOptions;
  readonly #progress: FactOwner<{ since: string; done: boolean }>;
  /** The present shutdown; undefined: there is none. */
  #present: { readonly since: string; order?: ShutdownOrder; done: boolean } | undefined;
  #cause: Cause | undefined;
  #cancel: Cancel = () => undefined;

  constructor(options: ShutdownOptions) {
    const { bus, periods, state, decide } = options;
    this.#options = options;
    this.#progress = bus.owner(shutdownProgress);
    bus.reader(nodeShutdown, {
      changed: ({ value: { active, since }, cause }) => {
        if (periods.length === 0) return;
        this.#cause = cause;
        if (active && this.#present?.since === since) return;
        this.stop();
        this.#present = active ? { since, done: false } : undefined;
        if (!active) {
          state.open();
          this.#progress.remove(bus.node, { causes: [cause] });
        }
        this.look([cause]);
        decide('all', [cause]);
      },
    });
  }

  /** All facts that there are to publish are published. */
  complete(): void {
    this.#progress.complete();
  }

  /** Some fact has changed, or a group's time is over. */
  look(causes: readonly Cause[]): void {
    const { state, periods, clock } = this.#options;
    const present = this.#present;
    if (present === undefined || present.done || !state.isListed) return;
    present.order ??= new ShutdownOrder(periods, state.close(), parseTime(present.since));
    const { begun, until } = present.order.step(clock.now(), (uid) => state.hasEnded(uid));
    this.#cancel();
    if (until === undefined) this.#finish(present, causes);
    else this.#cancel = clock.after(until - clock.now(), () => this.look([]));
    const why = [...new Set([...causes, ...(this.#cause === undefined ? [] : [this.#cause])])];
    for (const { pods, priority, seconds } of begun) {
      this.#options.logger.info({ priority, seconds, pods: pods.length }, 'ending pods: the machine is shutting down');
      for (const pod of pods) state.endForShutdown(pod.metadata.uid, shutdownGrace(pod, { seconds }));
      this.#options.decide(
        pods.map(({ metadata }) => metadata.uid),
        why,
      );
    }
  }

  stop(): void {
    this.#cancel();
  }

  #finish(present: { readonly since: string; done: boolean }, causes: readonly Cause[]): void {
    present.done = true;
    this.#progress.put(this.#options.bus.node, { since: present.since, done: true }, { causes });
    this.#options.logger.info({}, 'every pod has ended or has exceeded its grace period: the machine may shut down');
  }
}
