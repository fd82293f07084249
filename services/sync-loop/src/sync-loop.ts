import type { Bus, Cause, FactOwner } from '@kubus/bus';
import { formatTime } from '@kubus/bus';
import {
  type PodWork,
  type ServiceShare,
  type SourceName,
  configuredSources,
  desiredPods,
  podWake,
  podWork,
  podWorker,
  runtimePod,
  serviceShare,
  sourceNames,
} from '@kubus/contracts';
import { NodeState, type WorkChange } from '@kubus/pod-manager';
import type { Clock, Logger } from '@kubus/ports';

/** How often every pod is decided about anew, in case a single decision missed something (kubelet behaviour 1.4). */
const HOUSEKEEPING_MS = 10_000;

type Wake = { runtime?: { epoch: number; counter: number } | undefined; reason: string };

/**
 * The sync loop: takes in config, runtime and worker facts and the housekeeping tick, one at a time, and tells which pod
 * needs what (kubelet behaviour 1.2). Its decisions are those of `NodeState`; here they only come in and go out.
 */
export class SyncLoop {
  readonly #clock: Clock;
  readonly #logger: Logger;
  readonly #state: NodeState;
  readonly #works: FactOwner<PodWork>;
  readonly #wakes: FactOwner<Wake>;
  /** Until its first decision with everything known, nobody may take a missing work for an ended one. */
  #announced = false;
  #runtimeSeen = false;
  #stopped = false;

  /** @param options.workers which instances of pod-workers there are when nobody has spoken of them */
  constructor(options: { bus: Bus; clock: Clock; logger: Logger; workers: ServiceShare }) {
    const { bus, clock, logger } = options;
    this.#clock = clock;
    this.#logger = logger;
    this.#state = new NodeState();
    this.#works = bus.owner(podWork);
    this.#wakes = bus.owner(podWake);
    bus.reader(configuredSources, {
      changed: ({ value, cause }) => {
        this.#state.configured(value.sources);
        this.#decideAll([cause]);
      },
    });
    this.#readShare(bus, options.workers);
    for (const source of sourceNames) this.#readSource(bus, source);
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
    bus.reader(runtimePod, {
      changed: ({ key, value, cause }) => {
        const changed = this.#state.runtime(key, value);
        this.#decide(key, [cause]);
        // A pass that fails has its pod read each time: to be woken by that would be to repeat it without a pause.
        if (changed) this.#wake(key, { runtime: value.stamp, reason: 'its containers changed' }, cause);
      },
      removed: ({ key }, cause) => {
        this.#state.runtime(key, undefined);
        this.#decide(key, [cause]);
        this.#wake(key, { reason: 'the runtime has nothing of it any more' }, cause);
      },
      complete: (_instance, _epoch, cause) => {
        this.#runtimeSeen = true;
        this.#state.runtimeComplete();
        this.#decideAll([cause]);
      },
    });
    this.#housekeeping();
  }

  /** True once all sources and the runtime have been seen whole. */
  get ready(): boolean {
    return this.#announced;
  }

  stop(): void {
    this.#stopped = true;
  }

  #readShare(bus: Bus, otherwise: ServiceShare): void {
    const shares = bus.reader(serviceShare, {
      changed: ({ key, value, cause }) => {
        if (key !== 'pod-workers') return;
        this.#state.shared(value);
        this.#decideAll([cause]);
      },
    });
    void shares.whenPresent().then(() => {
      if (shares.get('pod-workers') !== undefined) return;
      this.#state.shared(otherwise);
      this.#decideAll([]);
    });
  }

  #readSource(bus: Bus, source: SourceName): void {
    bus.reader(desiredPods[source], {
      changed: ({ value, cause }) => {
        this.#state.desired(source, value);
        this.#decide(value.pod.metadata.uid, [cause]);
      },
      removed: ({ key }, cause) => {
        this.#state.undesired(source, key);
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
  }

  #decideAll(causes: readonly Cause[]): void {
    this.#publish(this.#state.decideAll(formatTime(this.#clock.now())), causes);
    if (this.#announced || !this.#state.ready || !this.#runtimeSeen) return;
    this.#announced = true;
    this.#works.complete();
    this.#wakes.complete();
  }

  #publish(changes: readonly WorkChange[], causes: readonly Cause[]): void {
    for (const { uid, work } of changes) {
      if (work === undefined) {
        this.#works.remove(uid, { pod: uid, causes });
        this.#wakes.remove(uid, { pod: uid, causes });
        continue;
      }
      const { ref, reason } = work;
      this.#logger.info({ pod: `${ref.namespace}/${ref.name}`, podUid: uid, work: work.work, reason }, 'work');
      this.#works.put(uid, work, { pod: uid, causes });
    }
  }

  #wake(uid: string, wake: Wake, cause: Cause): void {
    if (this.#state.work(uid) !== undefined) this.#wakes.put(uid, wake, { pod: uid, causes: [cause] });
  }

  #housekeeping(): void {
    this.#clock.after(HOUSEKEEPING_MS, () => {
      if (this.#stopped) return;
      this.#decideAll([]);
      this.#housekeeping();
    });
  }
}
