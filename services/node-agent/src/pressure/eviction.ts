import type { Bus, Cause } from '@kubus/bus';
import {
  type EvictionDecision,
  type Pod,
  type PodFailure,
  type Reclaimed,
  evictPod,
  freeImages,
  podRefOf,
} from '@kubus/contracts';
import {
  type Candidate,
  type Disks,
  type Observations,
  type PodUse,
  type Ranked,
  SIGNALS,
  type Threshold,
  type Signal,
  decisionOf,
  graceOf,
  hasStorageLimit,
  pressureFailure,
  rank,
  rankingOf,
  reclaimableFor,
  reclaimedOf,
  storageExcess,
} from '@kubus/eviction';
import { Tally } from '@kubus/metrics';
import type { PodReading } from '@kubus/node-metrics';
import { isCritical } from '@kubus/pod';
import { type Clock, type Logger, sleep, toError } from '@kubus/ports';
import type { Metrics, NodeEvents } from '@kubus/service-kit';
import type { ActivePods } from './active-pods.ts';

/** How long the end of an evicted pod, or of the containers of pods that have ended, is waited for, in milliseconds; after it the signals are read again in any case. */
const CLEANUP_MS = 30_000;

/** The grace period of a pod that exceeds its limits, in seconds. */
const LIMIT_GRACE_SECONDS = 1;

/** How long the removal of images may take, in milliseconds. */
const RECLAIM_MS = 120_000;

/**
 * How long after its removal a container may still be on the disk, in milliseconds, and how often that is looked at: the runtime gives its
 * layer back with its next garbage collection (containerd 1.6: 0.2 to 0.8 s later).
 */
const FREEING_MS = 3_000;
const FREEING_LOOK_MS = 250;

export interface EvictionOptions {
  readonly bus: Bus;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly events: NodeEvents;
  readonly pods: ActivePods;
  readonly usage: () => Promise<readonly PodReading[]>;
  /** evictionMaxPodGracePeriod, in seconds. */
  readonly maxPodGraceSeconds: number;
  /** The age before which no container is removed, in milliseconds (--minimum-container-ttl-duration). */
  readonly minContainerAgeMs: number;
}

interface Seen {
  readonly observations: Observations;
  readonly isMet: boolean;
}

/** Why something is reclaimed. */
export interface Need {
  /** The thresholds that are met, memory first; never empty. */
  readonly due: readonly Threshold[];
  readonly observations: Observations;
  readonly disks: Disks;
  /** Reads again what is left, and whether any threshold is met, its minimum reclaim included. */
  readonly look: () => Promise<Seen>;
  /** Publishes that pods that have ended keep no containers, until that has happened. */
  readonly withoutEnded: (removed: () => Promise<void>) => Promise<void>;
  /** The message that said so. */
  readonly cause: Cause;
  readonly signal: AbortSignal;
}

interface PodEviction {
  readonly failure: PodFailure;
  readonly graceSeconds: number;
  readonly decision?: EvictionDecision | undefined;
  /** The signal in the metrics. */
  readonly counted: string;
  readonly causes: readonly Cause[];
  readonly signal: AbortSignal;
}

/** Relieves a node that is short of something: removes what nobody needs, else evicts one pod (behaviour:eviction). */
export class Eviction {
  readonly #options: EvictionOptions;
  readonly #evictions = new Tally();

  constructor(options: EvictionOptions) {
    this.#options = options;
  }

  show(metrics: Metrics): void {
    metrics.add({
      type: 'counter',
      name: 'kubelet_evictions',
      help: 'Pods that were evicted, by eviction signal.',
      collect: () => this.#evictions.samples,
    });
  }

  /** Resolves with true when a pod was evicted and has ended, or had the time for it. */
  async relieve(need: Need): Promise<boolean> {
    const [threshold] = need.due;
    if (threshold === undefined) return false;
    const { events, logger, pods } = this.#options;
    const { resource } = SIGNALS[threshold.signal];
    logger.info({ resourceName: resource }, 'Eviction manager: attempting to reclaim');
    const message = `Attempting to reclaim ${resource}`;
    const recorded = events.record({ type: 'Warning', reason: 'EvictionThresholdMet', message }, [need.cause]);
    const causes = [...(recorded === undefined ? [] : [recorded]), need.cause];
    const { reclaimed, isMet, removals } = await this.#reclaim(threshold.signal, need, causes);
    if (!isMet) {
      logger.info(
        { resourceName: resource, reclaimed },
        'Eviction manager: able to reduce resource pressure without evicting pods',
      );
      return false;
    }
    if (pods.active.length === 0) {
      logger.error({}, 'Eviction manager: eviction thresholds have been met, but no pods are active to evict');
      return false;
    }
    return this.#evictOne(threshold, need, { causes: [...removals, ...causes], reclaimed });
  }

  /**
   * Evicts every pod that uses more of the node's disk than it may. Resolves with true when one was evicted and has ended, or had the time for
   * it. Nothing is measured while no pod has a limit.
   */
  async enforceLimits(disks: () => Promise<Disks | undefined>, signal: AbortSignal): Promise<boolean> {
    const limited = this.#options.pods.active.filter(hasStorageLimit);
    const where = limited.length === 0 ? undefined : await disks();
    if (where === undefined) return false;
    const uses = await this.#uses();
    const evicted = await Promise.all(
      limited.map(async (pod) => {
        const excess = storageExcess({ pod, use: uses.get(pod.metadata.uid) }, where);
        if (excess === undefined || !this.#isEvictable(pod)) return false;
        const eviction = { failure: excess.failure, graceSeconds: LIMIT_GRACE_SECONDS };
        return this.#evict(pod, { ...eviction, counted: excess.signal, causes: [], signal });
      }),
    );
    return evicted.some(Boolean);
  }

  /** The pods in the order in which they would be evicted for a signal, with what they use now. */
  async rank(
    signal: Signal,
    disks: Disks,
  ): Promise<{ readonly ranked: readonly Ranked[]; readonly uses: ReadonlyMap<string, PodUse | undefined> }> {
    const uses = await this.#uses();
    const candidates = this.#options.pods.active.map((pod): Candidate => ({ pod, use: uses.get(pod.metadata.uid) }));
    return { ranked: rank(signal, disks, candidates), uses };
  }

  async #uses(): Promise<ReadonlyMap<string, PodUse | undefined>> {
    return new Map((await this.#options.usage()).map((reading) => [reading.ref.uid, useOf(reading)]));
  }

  /** Critical pods are not, because the node needs them and would not admit its own again. */
  #isEvictable(pod: Pod): boolean {
    if (!isCritical(pod)) return true;
    this.#options.logger.error({ pod: nameOf(pod) }, 'Eviction manager: cannot evict a critical pod');
    return false;
  }

  /** Removes what nobody needs, and measures what each step has freed: what is still in use by others, or written meanwhile, frees nothing. */
  async #reclaim(
    signal: Signal,
    need: Need,
    causes: readonly Cause[],
  ): Promise<{
    readonly reclaimed: readonly Reclaimed[];
    readonly isMet: boolean;
    /** The answers to the requests for it. */
    readonly removals: readonly Cause[];
  }> {
    const reclaimed: Reclaimed[] = [];
    const removals: Cause[] = [];
    let seen: Seen = { observations: need.observations, isMet: true };
    for (const what of reclaimableFor(signal, need.disks)) {
      const before = seen.observations;
      if (what === 'containers') {
        seen = (await this.#removeEnded(need)) ? await this.#freed(need) : await need.look();
      } else {
        removals.push(...(await this.#removeImages(causes, need.signal)));
        seen = await need.look();
      }
      reclaimed.push(reclaimedOf(what, signal, { before, after: seen.observations }));
    }
    return { reclaimed, isMet: seen.isMet, removals };
  }

  /** Resolves with whether anything was removed. */
  async #removeEnded({ withoutEnded, signal }: Need): Promise<boolean> {
    const { clock, minContainerAgeMs, pods } = this.#options;
    const createdBefore = clock.now() - minContainerAgeMs;
    const hadSome = !pods.areEmptied(createdBefore);
    await withoutEnded(() => this.#atMost(CLEANUP_MS, signal, (limit) => pods.emptied(createdBefore, limit)));
    return hadSome && pods.areEmptied(createdBefore);
  }

  /** What is left when containers were removed: the runtime may give back a moment later what was theirs. */
  async #freed({ look, signal }: Need): Promise<Seen> {
    const { clock } = this.#options;
    const end = clock.now() + FREEING_MS;
    let seen = await look();
    while (seen.isMet && clock.now() < end && !signal.aborted) {
      await sleep(clock, FREEING_LOOK_MS, signal);
      seen = await look();
    }
    return seen;
  }

  /** Does `work` with a signal that aborts after this time. */
  async #atMost(ms: number, signal: AbortSignal, work: (limit: AbortSignal) => Promise<void>): Promise<void> {
    const done = new AbortController();
    const limit = AbortSignal.any([signal, done.signal]);
    const late = sleep(this.#options.clock, ms, limit).then(() => done.abort());
    try {
      await work(limit);
    } finally {
      done.abort();
      await late;
    }
  }

  /** Resolves with the answer to the request, if it came in time. */
  async #removeImages(causes: readonly Cause[], signal: AbortSignal): Promise<readonly Cause[]> {
    const { bus, clock, logger } = this.#options;
    const enough = new AbortController();
    try {
      const freed = bus.call(freeImages, bus.node, {}, { causes });
      const answer = await Promise.race([
        freed,
        sleep(clock, RECLAIM_MS, AbortSignal.any([signal, enough.signal])).then(() => undefined),
      ]);
      if (answer === undefined) return [];
      logger.info(answer.result, 'Eviction manager: removed unused images');
      return [answer.cause];
    } catch (error) {
      logger.warn(
        { err: toError(error) },
        'Eviction manager: unexpected error when attempting to reduce resource pressure',
      );
      return [];
    } finally {
      enough.abort();
    }
  }

  /** The first pod in the order that can be evicted; at most one. */
  async #evictOne(
    threshold: Threshold,
    need: Need,
    { causes, reclaimed }: { causes: readonly Cause[]; reclaimed: readonly Reclaimed[] },
  ): Promise<boolean> {
    const { logger, maxPodGraceSeconds } = this.#options;
    const { uses, ranked } = await this.rank(threshold.signal, need.disks);
    const ranking = rankingOf(threshold.signal, ranked);
    const decision = decisionOf(threshold, need.observations, { reclaimed, ranking });
    logger.info(
      { signal: threshold.signal, pods: ranked.map(({ pod, ...numbers }) => ({ pod: nameOf(pod), ...numbers })) },
      'Eviction manager: pods ranked for eviction',
    );
    for (const { pod } of ranked) {
      if (need.signal.aborted) return false;
      if (!this.#isEvictable(pod)) continue;
      const candidate = { pod, use: uses.get(pod.metadata.uid) };
      const eviction = {
        failure: pressureFailure(SIGNALS[threshold.signal].resource, candidate, need),
        graceSeconds: graceOf(threshold, candidate, maxPodGraceSeconds),
        decision,
      };
      const how = { ...eviction, counted: threshold.signal, causes, signal: need.signal };
      if (!(await this.#evict(pod, how))) continue;
      // What comes back a moment later must not cost a second pod.
      if (SIGNALS[threshold.signal].condition === 'DiskPressure') await this.#freed(need);
      return true;
    }
    logger.info({}, 'Eviction manager: unable to evict any pods from the node');
    return false;
  }

  /** Rejects when it is unknown whether sync-loop has recorded it: then the signals have to be read again before anything else. */
  async #evict(pod: Pod, { failure, graceSeconds, decision, counted, causes, signal }: PodEviction): Promise<boolean> {
    const { bus, logger, pods } = this.#options;
    const { uid } = pod.metadata;
    const request = { ref: podRefOf(pod), failure, graceSeconds, ...(decision && { decision }) };
    const { result } = await bus.call(evictPod, uid, request, { causes: [...causes, ...pods.causesOf(uid)] });
    if (!result.evicted) return false;
    this.#evictions.add({ eviction_signal: counted });
    logger.info({ pod: nameOf(pod), podUID: uid, message: failure.message }, 'Eviction manager: evicting a pod');
    await this.#atMost(CLEANUP_MS, signal, (limit) => pods.end(uid, limit));
    if (!pods.hasEnded(uid))
      logger.info({ pod: nameOf(pod) }, 'Eviction manager: timed out waiting for pods to be cleaned up');
    return true;
  }
}

function useOf({ cgroup, processes = 0, containers, volumes }: PodReading): PodUse | undefined {
  if (cgroup === undefined) return undefined;
  return {
    memory: cgroup.usage.memory.workingSetBytes,
    processes,
    containers: containers.map(({ name, cgroup: own, rootfs, logs }) => ({
      ...{ name, rootfs, logs },
      memory: own?.usage.memory.workingSetBytes,
    })),
    volumes,
  };
}

function nameOf({ metadata: { namespace, name } }: Pod): string {
  return `${namespace}/${name}`;
}
