import type { Bus, FactReader } from '@kubus/bus';
import {
  type PodProbes,
  type PodWork,
  type RuntimePod,
  podProbes,
  podWork,
  probeEvent,
  runtimePod,
} from '@kubus/contracts';
import type { Rate } from '@kubus/event-correlator';
import type { Clock, Ids, Logger, RecordStore } from '@kubus/ports';
import { kindNames } from '@kubus/probe';
import { EventRecorder } from '@kubus/service-kit';
import { PodProber } from './pod-prober.ts';
import { ResultKeeper } from './result-keeper.ts';

export interface ProberOptions {
  readonly bus: Bus;
  readonly clock: Clock;
  readonly ids: Pick<Ids, 'fraction'>;
  readonly logger: Logger;
  readonly records: RecordStore;
  /** Address of pods in the host's network. */
  readonly nodeIp: string;
  /** See {@link EventRecorder}. */
  readonly eventRate?: Rate | undefined;
}

/** Attempts of one probe since the prober's start that ended in one way. */
export interface ProbeCount {
  readonly value: number;
  readonly labels: Readonly<Record<string, string>>;
}

/** The probes of every pod of the node (kubelet behaviour 1.11). */
export class Prober {
  readonly #options: ProberOptions;
  readonly #keeper: ResultKeeper;
  readonly #kept: Map<string, PodProbes>;
  readonly #startedAt: number;
  readonly #events: EventRecorder;
  readonly #pods = new Map<string, PodProber>();
  readonly #works: FactReader<PodWork>;
  readonly #runtimes: FactReader<RuntimePod>;

  private constructor(options: ProberOptions, keeper: ResultKeeper, kept: Map<string, PodProbes>) {
    this.#options = options;
    this.#keeper = keeper;
    this.#kept = kept;
    this.#startedAt = options.clock.now();
    const { bus, clock, eventRate } = options;
    this.#events = new EventRecorder({ bus, clock, declaration: probeEvent, rate: eventRate });
    this.#works = bus.reader(podWork, {
      changed: ({ key }) => this.#update(key),
      removed: ({ key }, cause) => {
        this.#pods.get(key)?.stop();
        this.#pods.delete(key);
        this.#kept.delete(key);
        keeper.remove(key, [cause]);
      },
      // What ended while the prober was away.
      complete: (_instance, _epoch, cause) => {
        for (const uid of keeper.pods) {
          if (this.#works.get(uid) !== undefined) continue;
          this.#kept.delete(uid);
          keeper.remove(uid, [cause]);
        }
      },
    });
    this.#runtimes = bus.reader(runtimePod, {
      changed: ({ key }) => this.#update(key),
      removed: ({ key }) => this.#update(key),
    });
  }

  /** Publishes what is known from before and begins to probe. */
  static async start(options: ProberOptions): Promise<Prober> {
    const { bus, clock, logger, records } = options;
    const keeper = new ResultKeeper({ records, clock, logger, facts: bus.owner(podProbes) });
    return new Prober(options, keeper, await keeper.restore());
  }

  /** Why results can not be kept now. */
  get saveError(): string | undefined {
    return this.#keeper.saveError;
  }

  /** How many probes of each result were made, as the reference's `prober_probe_total` counts them. */
  *counts(): Generator<ProbeCount> {
    for (const { ref, loops } of this.#pods.values()) {
      for (const { definition, counts } of loops) {
        const { container, kind } = definition;
        const labels = {
          ...{ probe_type: kindNames[kind], container: container.name },
          ...{ pod: ref.name, namespace: ref.namespace, pod_uid: ref.uid },
        };
        for (const [result, value] of Object.entries(counts)) yield { value, labels: { ...labels, result } };
      }
    }
  }

  /** Pods and results stay as they are. */
  stop(): void {
    for (const pod of this.#pods.values()) pod.stop();
    this.#keeper.stop();
  }

  #update(uid: string): void {
    const work = this.#works.get(uid);
    if (work === undefined) return;
    let pod = this.#pods.get(uid);
    if (pod === undefined) {
      const { bus, clock, ids, logger, nodeIp } = this.#options;
      const { namespace, name } = work.value.ref;
      pod = new PodProber(work, {
        ...{ bus, clock, nodeIp, events: this.#events, keeper: this.#keeper, proberStartedAt: this.#startedAt },
        fraction: () => ids.fraction(),
        logger: logger.child({ pod: `${namespace}/${name}`, podUid: uid }),
        kept: this.#kept.get(uid),
      });
      this.#pods.set(uid, pod);
    }
    pod.update(work, this.#runtimes.get(uid));
  }
}
