import { type AdmissionNode, type IdPool, NodeState, type ShutdownPeriod, type WorkChange } from '@kubus/admission';
import { type Bus, type Cause, type FactOwner, type FactReader, formatTime } from '@kubus/bus';
import {
  type PodUpdate,
  type PodWork,
  type ServiceShare,
  type SourceName,
  clusterNode,
  configuredSources,
  desiredPods,
  deviceResource,
  evictPod,
  nodePressure,
  podStatus,
  podWork,
  podWorker,
  runtimeCondition,
  runtimePod,
  sourceNames,
} from '@kubus/contracts';
import type { Clock, Logger, RecordStore } from '@kubus/ports';
import { followShare } from '@kubus/service-kit';
import { AdmissionFiles } from './admission-files.ts';
import { DeviceRequests } from './device-requests.ts';
import { OlderWorkers } from './older-workers.ts';
import { Shutdown } from './shutdown.ts';
import { WorkMetrics } from './work-metrics.ts';

/**
 * How often every pod is decided about again, in milliseconds, in case a decision missed something
 * (behaviour:housekeeping).
 */
const HOUSEKEEPING_MS = 10_000;

export interface SyncLoopOptions {
  readonly bus: Bus;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly records: RecordStore;
  readonly node: AdmissionNode;
  /** The node is in a cluster: pods of the API server are admitted by its Node object. */
  readonly inCluster?: boolean;
  /** For the pods' user namespaces. */
  readonly ids: IdPool;
  /** The instances of pod-workers, until the launcher has published them. */
  readonly workers: ServiceShare;
  /** How long pods get to end when the machine shuts down, by priority. Default: nothing is done before it. */
  readonly shutdown?: readonly ShutdownPeriod[] | undefined;
}

/**
 * The sync loop: takes in config, runtime and worker facts and the housekeeping tick, one at a time, and publishes
 * which pod needs what (behaviour:sync-loop). The decisions are made by `NodeState`.
 */
export class SyncLoop {
  /** Metrics of its decisions. */
  readonly metrics = new WorkMetrics();
  readonly #clock: Clock;
  readonly #logger: Logger;
  readonly #state: NodeState;
  readonly #works: FactOwner<PodWork>;
  readonly #olderWorkers: OlderWorkers;
  readonly #files: AdmissionFiles;
  readonly #devices: DeviceRequests;
  readonly #shutdown: Shutdown;
  readonly #desired: readonly FactReader<PodUpdate>[];
  /** Ends when all decisions have been published. */
  #publishing: Promise<void> = Promise.resolve();
  /** Before its first decision with all facts known, missing work does not mean that a pod has ended. */
  #announced = false;
  #runtimeSeen = false;
  #runtimeKnown = false;
  #stopped = false;

  /** Reads the decisions of earlier processes, then starts. */
  static async start(options: SyncLoopOptions): Promise<SyncLoop> {
    return new SyncLoop(options, await AdmissionFiles.load(options.records, options.logger));
  }

  private constructor(options: SyncLoopOptions, files: AdmissionFiles) {
    const { bus, clock, logger, node, ids, inCluster = false, shutdown: periods = [] } = options;
    this.#clock = clock;
    this.#logger = logger;
    this.#files = files;
    for (const [uid, { verdict }] of files.saved) if (verdict === 'rejected') this.metrics.earlier(uid, 'reject');
    this.#state = new NodeState({
      node,
      ids,
      records: files.saved,
      awaitsNode: inCluster,
      awaitsShutdown: periods.length > 0,
    });
    this.#devices = new DeviceRequests({ bus, logger, exclusive: node.exclusive }, ({ uid, refusal, causes }) => {
      this.#state.devices(uid, refusal);
      this.#decide(uid, causes);
    });
    this.#shutdown = new Shutdown({
      ...{ bus, clock, logger, periods, state: this.#state },
      decide: (uids, causes) => {
        if (uids === 'all') this.#decideAll(causes);
        else for (const uid of uids) this.#decide(uid, causes);
      },
    });
    this.#works = bus.owner(podWork);
    bus.reader(configuredSources, {
      changed: ({ value, cause }) => {
        this.#state.configured(value.sources);
        this.#decideAll([cause]);
      },
    });
    bus.reader(clusterNode, {
      changed: ({ value, cause }) => {
        if (this.#state.node(value)) this.#decideAll([cause]);
      },
    });
    bus.reader(deviceResource, { changed: ({ value }) => this.#state.deviceResource(value) });
    bus.reader(nodePressure, { changed: ({ value }) => this.#state.pressure(value.conditions) });
    followShare(bus, 'pod-workers', options.workers, (share, causes) => {
      this.#state.shared(share);
      this.#decideAll(causes);
    });
    this.#desired = sourceNames.map((source) => this.#readSource(bus, source));
    bus.reader(podWorker, {
      changed: ({ key, value, cause }) => {
        this.#state.worker(key, value);
        this.#decide(key, [cause]);
      },
      removed: ({ key }, cause) => {
        this.#state.worker(key, undefined);
        this.#decide(key, [cause]);
      },
    });
    const states = bus.reader(runtimePod, {
      changed: ({ key, value, cause }) => {
        const changed = this.#state.runtime(key, value);
        this.#decide(key, [cause]);
        if (changed) this.#olderWorkers.changed(key, value, cause);
      },
      removed: ({ key }, cause) => {
        this.#state.runtime(key, undefined);
        this.#decide(key, [cause]);
        this.#olderWorkers.removed(key, cause);
      },
      complete: (_instance, _epoch, cause) => {
        this.#runtimeSeen = true;
        this.#state.runtimeComplete();
        this.#decideAll([cause]);
      },
    });
    this.#olderWorkers = new OlderWorkers({
      bus,
      work: (uid) => this.#state.work(uid),
      states: () => states,
      publishInOrder: (what) => this.#publishInOrder(what),
    });
    bus.reader(runtimeCondition, {
      changed: ({ value, cause }) => {
        if (!value.ready) return;
        this.#state.runtimeFeatures({ strictSupplementalGroups: value.strictSupplementalGroups === true });
        if (this.#runtimeKnown) return;
        this.#runtimeKnown = true;
        this.#decideAll([cause]);
      },
    });
    bus.reader(podStatus, {
      lazy: true,
      changed: (fact) => {
        // Only a resize needs the status: the resources that the pod still has.
        if (this.#state.status(fact.key, () => fact.value.status)) this.#decide(fact.key, [fact.cause]);
      },
    });
    bus.serve(evictPod, async ({ key, request: { failure, graceSeconds }, cause }) => {
      const evicted = this.#state.evict(key, { failure, graceSeconds });
      if (evicted) this.#decide(key, [cause]);
      // The answer promises that the record is written.
      await this.#publishing;
      return { evicted };
    });
    this.#housekeeping();
  }

  /** Why an admission decision could not be written; undefined when all were. */
  get saveError(): string | undefined {
    return this.#files.error;
  }

  /** True once all sources and the runtime are complete. */
  get ready(): boolean {
    return this.#announced;
  }

  stop(): void {
    this.#stopped = true;
    this.#shutdown.stop();
  }

  #readSource(bus: Bus, source: SourceName): FactReader<PodUpdate> {
    return bus.reader(desiredPods[source], {
      changed: ({ value, cause }) => {
        this.#state.desired(source, value);
        this.metrics.wanted(value.pod.metadata.uid, value.pod);
        this.#decide(value.pod.metadata.uid, [cause]);
      },
      removed: ({ key }, cause) => {
        this.#state.undesired(source, key);
        this.metrics.wanted(key, undefined);
        this.#decide(key, [cause]);
      },
      complete: (_instance, _epoch, cause) => {
        this.#state.sourceComplete(source);
        this.#decideAll([cause]);
      },
    });
  }

  #decide(uid: string, causes: readonly Cause[]): void {
    this.#publish(this.#state.decide(uid, formatTime(this.#clock.now())), causes);
    this.#shutdown.look(causes);
  }

  #decideAll(causes: readonly Cause[]): void {
    // Before pods are worked on that an earlier process of this service has ended.
    this.#shutdown.look(causes);
    this.#publish(this.#state.decideAll(formatTime(this.#clock.now())), causes);
    if (this.#announced || !this.#state.ready || !this.#runtimeSeen || !this.#runtimeKnown) return;
    this.#announced = true;
    this.#publishInOrder(() => {
      this.#works.complete();
      this.#olderWorkers.complete();
      this.#shutdown.complete();
    });
  }

  #publish(changes: readonly WorkChange[], causes: readonly Cause[]): void {
    for (const change of changes) {
      this.metrics.decided(change.uid, change.work);
      this.#publishInOrder(async () => {
        await this.#files.save(change.uid, change.record);
        this.#publishOne(change, causes);
      });
    }
    for (const pod of this.#state.podsWithoutDevices) this.#devices.ask(pod, causes);
  }

  #publishOne({ uid, work }: WorkChange, awaited: readonly Cause[]): void {
    // The desired pod's message is a cause of its work, also when the work had to wait for something else.
    const wanted = this.#desired.flatMap((pods) => pods.get(uid)?.cause ?? []);
    const causes = [...new Set([...awaited, ...wanted])];
    if (work === undefined) {
      this.#works.remove(uid, { pod: uid, causes });
      this.#olderWorkers.forget(uid, causes);
      return;
    }
    const { ref, reason } = work;
    this.#logger.info({ pod: `${ref.namespace}/${ref.name}`, podUid: uid, work: work.work, reason }, 'work');
    this.#works.put(uid, work, { pod: uid, causes });
  }

  /** Publishes something after everything that was decided before it. */
  #publishInOrder(what: () => void | Promise<void>): void {
    this.#publishing = this.#publishing.then(() => (this.#stopped ? undefined : what()));
  }

  #housekeeping(): void {
    this.#clock.after(HOUSEKEEPING_MS, () => {
      if (this.#stopped) return;
      this.#publishInOrder(() => this.#files.retry());
      this.#decideAll([]);
      this.#housekeeping();
    });
  }
}
