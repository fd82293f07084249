import type { Bus, FactReader } from '@kubus/bus';
import {
  type PodUpdate,
  type PodWork,
  type PodWorkerReport,
  type SourceName,
  configuredSources,
  desiredPods,
  podWork,
  podWorker,
  sourceNames,
} from '@kubus/contracts';
import type { Cancel, Clock } from '@kubus/ports';

/** How long the facts that list a pod may take longer than a request for it, in milliseconds. */
const LATE_MS = 30_000;

/** Knows which pods no longer need anything of the node. */
export class EndedPods {
  readonly #desired: readonly FactReader<PodUpdate>[];
  readonly #works: FactReader<PodWork>;
  readonly #workers: FactReader<PodWorkerReport>;
  readonly #complete = new Set<SourceName>();
  #sources: readonly SourceName[] | undefined;
  #worksComplete = false;
  #workersComplete = false;
  readonly #listeners: ((uid?: string) => void)[] = [];
  readonly #clock: Clock;
  /** Pods for which something was requested lately, by UID. */
  readonly #requested = new Map<string, Cancel>();

  constructor(bus: Bus, clock: Clock) {
    this.#clock = clock;
    const changed = (uid?: string) => this.#changed(uid);
    const about = {
      changed: ({ key }: { key: string }) => changed(key),
      removed: ({ key }: { key: string }) => changed(key),
    };
    bus.reader(configuredSources, {
      changed: ({ value }) => {
        this.#sources = value.sources;
        changed();
      },
    });
    this.#desired = sourceNames.map((source) =>
      bus.reader(desiredPods[source], {
        lazy: true,
        removed: about.removed,
        complete: () => {
          this.#complete.add(source);
          changed();
        },
      }),
    );
    // Only of pods with devices or claims is it asked whether they have ended.
    this.#works = bus.reader(podWork, {
      ...about,
      lazy: true,
      complete: () => {
        this.#worksComplete = true;
        changed();
      },
    });
    this.#workers = bus.reader(podWorker, {
      ...about,
      complete: () => {
        this.#workersComplete = true;
        changed();
      },
    });
  }

  /** Calls `listener` now and whenever a pod may have ended; without a UID when that may be any pod. */
  follow(listener: (uid?: string) => void): void {
    this.#listeners.push(listener);
    listener();
  }

  /**
   * Something of the node is requested for the pod. Who requests it may have read of the pod before this service does: that nothing lists it
   * does not mean for a while that it has ended.
   */
  requested(uid: string): void {
    this.#requested.get(uid)?.();
    const late = this.#clock.after(LATE_MS, () => {
      this.#requested.delete(uid);
      this.#changed(uid);
    });
    this.#requested.set(uid, late);
  }

  /**
   * Whether nothing of the pod runs or will be started: its worker has finished it, the node has rejected it, or no
   * service lists it any more. A pod that waits for admission is still listed by its source.
   */
  has(uid: string): boolean {
    const work = this.#works.get(uid)?.value.work;
    const state = this.#workers.get(uid)?.value.state;
    if (state === 'terminated' || work === 'reject') return true;
    if (work !== undefined || this.#desired.some((pods) => pods.get(uid) !== undefined)) return false;
    if (this.#requested.has(uid)) return false;
    const isKnown = this.#worksComplete && this.#workersComplete && this.#sourcesComplete;
    return isKnown && (state === undefined || state === 'finished');
  }

  #changed(uid: string | undefined): void {
    for (const listener of this.#listeners) listener(uid);
  }

  get #sourcesComplete(): boolean {
    return this.#sources?.every((source) => this.#complete.has(source)) ?? false;
  }
}
