import { ownerOf } from '@kubus/admission';
import type { Bus, Cause, FactReader } from '@kubus/bus';
import {
  type PodProbes,
  type PodWork,
  type RuntimePod,
  type ServiceShare,
  podProbes,
  podWork,
  probeEvent,
  runtimePod,
} from '@kubus/contracts';
import type { Rate } from '@kubus/flow';
import type { MetricSeries } from '@kubus/metrics';
import type { Clock, Ids, Logger, RecordStore } from '@kubus/ports';
import { kindNames } from '@kubus/probe';
import { EventRecorder, type PodEvents, SharedRecords, followShare } from '@kubus/service-kit';
import type { NetworkProbes } from './network-probes.ts';
import { PodProber } from './pod-prober.ts';
import { ResultKeeper } from './result-keeper.ts';

export interface ProberOptions {
  readonly bus: Bus;
  readonly clock: Clock;
  readonly ids: Pick<Ids, 'fraction'>;
  readonly logger: Logger;
  readonly network: NetworkProbes;
  /** The folder that all instances share. */
  readonly records: RecordStore;
  /** The instances, until the launcher has published them. */
  readonly share: ServiceShare;
  /** Address of pods in the host's network. */
  readonly nodeIp: string;
  /** See {@link EventRecorder}. */
  readonly eventRate?: Rate | undefined;
}

/** Attempts of one probe since the prober's start, with one result. */
export interface ProbeCount {
  readonly value: number;
  readonly labels: Readonly<Record<string, string>>;
}

/** The probes of every pod of this instance (behaviour:probes). */
export class Prober {
  readonly #options: ProberOptions;
  readonly #keeper: ResultKeeper;
  readonly #kept = new Map<string, PodProbes>();
  readonly #startedAt: number;
  readonly #events: PodEvents;
  readonly #pods = new Map<string, PodProber>();
  readonly #said: FactReader<PodProbes>;
  readonly #works: FactReader<PodWork>;
  readonly #runtimes: FactReader<RuntimePod>;
  /** Undefined until it is known; no pod is claimed before. */
  #share: ServiceShare | undefined;
  #worksKnown = false;
  /** Number of running changes of the share; no pod is claimed meanwhile. */
  #changes = 0;
  #change: Promise<void> = Promise.resolve();

  constructor(options: ProberOptions) {
    this.#options = options;
    const { bus, clock, logger, eventRate } = options;
    const records = new SharedRecords(options.records, bus.instance);
    const life = { by: bus.instance, epoch: bus.epoch };
    const keeper = new ResultKeeper({ ...{ records, life, clock, logger }, facts: bus.owner(podProbes) });
    this.#said = bus.reader(podProbes);
    this.#keeper = keeper;
    this.#startedAt = clock.now();
    this.#events = new EventRecorder({ bus, clock, rate: eventRate }).ofPods(probeEvent);
    this.#works = bus.reader(podWork, {
      changed: ({ key }) => this.#update(key),
      removed: ({ key }, cause) => {
        this.#pods.get(key)?.stop();
        this.#pods.delete(key);
        this.#kept.delete(key);
        this.#events.forget(key);
        keeper.forget(key, [cause]);
      },
      complete: (_instance, _epoch, cause) => {
        this.#worksKnown = true;
        this.#forgetEnded([cause]);
      },
    });
    followShare(bus, 'prober', options.share, (share, causes) => {
      this.#share = share;
      this.#changes += 1;
      this.#change = this.#change.then(() => this.#reshare(share, causes));
    });
    this.#runtimes = bus.reader(runtimePod, {
      // Most pods have no probes.
      lazy: true,
      changed: ({ key }) => this.#update(key),
      removed: ({ key }) => this.#update(key),
    });
  }

  /** Number of pods of this instance. */
  get count(): number {
    return this.#pods.size;
  }

  /** Why results cannot be written now. */
  get saveError(): string | undefined {
    return this.#keeper.saveError;
  }

  /** Number of probes by result, for the reference's `prober_probe_total`. */
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

  /** Durations of successful probes, for the reference's `prober_probe_duration_seconds`. */
  *durations(): Generator<MetricSeries> {
    for (const { ref, loops } of this.#pods.values()) {
      for (const { definition, seconds } of loops) {
        const { container, kind } = definition;
        const labels = {
          ...{ probe_type: kindNames[kind], container: container.name, pod: ref.name, namespace: ref.namespace },
        };
        for (const series of seconds.series) yield { ...series, labels };
      }
    }
  }

  /** Pods and results stay as they are. */
  stop(): void {
    for (const pod of this.#pods.values()) pod.stop();
    this.#keeper.stop();
  }

  #has(uid: string): boolean {
    return this.#share !== undefined && ownerOf(uid, this.#share.instances) === this.#options.bus.instance;
  }

  /**
   * Releases the pods of other instances at once, and claims its own with their recorded results. The first time, pods
   * without a fact of this instance may count as removed afterwards.
   */
  async #reshare({ term }: ServiceShare, causes: readonly Cause[]): Promise<void> {
    for (const [uid, pod] of this.#pods) {
      if (this.#has(uid)) continue;
      pod.stop();
      this.#pods.delete(uid);
      this.#kept.delete(uid);
      this.#keeper.release(uid);
    }
    await this.#said.whenPresent();
    const { instance, epoch } = this.#options.bus;
    const earlier = [...this.#said].filter((fact) => fact.source === instance && fact.epoch < epoch);
    const said = new Map(earlier.map((fact) => [fact.key, { probes: fact.value, epoch: fact.epoch }]));
    const kept = await this.#keeper.takeUp((uid) => this.#has(uid), { term, causes, said });
    for (const [uid, probes] of kept) {
      this.#kept.set(uid, probes);
      // Another instance may have owned it in between, and has newer results.
      this.#pods.get(uid)?.stop();
      this.#pods.delete(uid);
    }
    this.#changes -= 1;
    this.#keeper.complete();
    if (this.#worksKnown) this.#forgetEnded(causes);
    for (const { key } of this.#works) this.#update(key);
  }

  /** Forgets pods that ended while no prober owned them. */
  #forgetEnded(causes: readonly Cause[]): void {
    for (const uid of this.#keeper.pods) {
      if (this.#works.get(uid) !== undefined) continue;
      this.#kept.delete(uid);
      this.#keeper.forget(uid, causes);
    }
  }

  #update(uid: string): void {
    const work = this.#works.get(uid);
    if (work === undefined || this.#share === undefined || this.#changes > 0 || !this.#has(uid)) return;
    this.#keeper.claim(uid, this.#share.term);
    let pod = this.#pods.get(uid);
    if (pod === undefined) {
      const { bus, clock, ids, logger, network, nodeIp } = this.#options;
      const { namespace, name } = work.value.ref;
      pod = new PodProber(work, {
        ...{
          bus,
          clock,
          network,
          nodeIp,
          events: this.#events,
          keeper: this.#keeper,
          proberStartedAt: this.#startedAt,
        },
        fraction: () => ids.fraction(),
        logger: logger.child({ pod: `${namespace}/${name}`, podUid: uid }),
        kept: this.#kept.get(uid),
      });
      this.#pods.set(uid, pod);
    }
    pod.update(work, this.#runtimes.get(uid));
  }
}
