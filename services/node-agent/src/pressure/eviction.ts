import { type Bus, type Cause, CommandFailed, PeerRestarted } from '@kubus/bus';
import { type Pod, evictPod, freeImages, podRefOf } from '@kubus/contracts';
import {
  type Candidate,
  type Disks,
  type Observations,
  type PodUse,
  type Reclaimable,
  SIGNALS,
  type Threshold,
  graceOf,
  pressureFailure,
  rank,
  reclaimableFor,
} from '@kubus/eviction';
import { Tally } from '@kubus/metrics';
import type { PodReading } from '@kubus/node-metrics';
import { isCritical } from '@kubus/pod';
import { type Clock, type Logger, sleep, toError } from '@kubus/ports';
import type { Metrics, NodeEvents } from '@kubus/service-kit';
import type { ActivePods } from './active-pods.ts';

/** How long the end of an evicted pod is waited for, in milliseconds; after it the signals are read again in any case. */
const CLEANUP_MS = 30_000;

/** How long the removal of images may take, in milliseconds. */
const RECLAIM_MS = 120_000;

export interface EvictionOptions {
  readonly bus: Bus;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly events: NodeEvents;
  readonly pods: ActivePods;
  readonly usage: () => Promise<readonly PodReading[]>;
  /** evictionMaxPodGracePeriod, in seconds. */
  readonly maxPodGraceSeconds: number;
}

/** Why something is reclaimed. */
export interface Need {
  /** The thresholds that are met, memory first; never empty. */
  readonly due: readonly Threshold[];
  readonly observations: Observations;
  readonly disks: Disks;
  /** Reads again whether any threshold is met, its minimum reclaim included. */
  readonly isMetStill: () => Promise<boolean>;
  /** The message that said so. */
  readonly cause: Cause;
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
    const told = events.record({ type: 'Warning', reason: 'EvictionThresholdMet', message }, [need.cause]);
    const causes = [...(told === undefined ? [] : [told]), need.cause];
    const reclaimable = reclaimableFor(threshold.signal, need.disks);
    for (const what of reclaimable) await this.#reclaim(what, causes, need.signal);
    if (reclaimable.length > 0 && !(await need.isMetStill())) {
      logger.info(
        { resourceName: resource },
        'Eviction manager: able to reduce resource pressure without evicting pods',
      );
      return false;
    }
    if (pods.active.length === 0) {
      logger.error({}, 'Eviction manager: eviction thresholds have been met, but no pods are active to evict');
      return false;
    }
    return this.#evictOne(threshold, need, causes);
  }

  async #reclaim(what: Reclaimable, causes: readonly Cause[], signal: AbortSignal): Promise<void> {
    if (what !== 'images') return;
    const { bus, clock, logger } = this.#options;
    const enough = new AbortController();
    try {
      const freed = bus.call(freeImages, bus.node, {}, { causes });
      const answer = await Promise.race([
        freed,
        sleep(clock, RECLAIM_MS, AbortSignal.any([signal, enough.signal])).then(() => undefined),
      ]);
      if (answer !== undefined) logger.info(answer.result, 'Eviction manager: removed unused images');
    } catch (error) {
      logger.warn(
        { err: toError(error) },
        'Eviction manager: unexpected error when attempting to reduce resource pressure',
      );
    } finally {
      enough.abort();
    }
  }

  /** The first pod in the order that can be evicted; at most one. */
  async #evictOne(threshold: Threshold, need: Need, causes: readonly Cause[]): Promise<boolean> {
    const { logger, pods, usage } = this.#options;
    const uses = new Map((await usage()).map((reading) => [reading.ref.uid, useOf(reading)]));
    const candidates = pods.active.map((pod): Candidate => ({ pod, use: uses.get(pod.metadata.uid) }));
    const ranked = rank(threshold.signal, need.disks, candidates);
    logger.info(
      { signal: threshold.signal, pods: ranked.map(({ pod, ...numbers }) => ({ pod: nameOf(pod), ...numbers })) },
      'Eviction manager: pods ranked for eviction',
    );
    for (const { pod } of ranked) {
      if (need.signal.aborted) return false;
      if (isCritical(pod)) {
        logger.error({ pod: nameOf(pod) }, 'Eviction manager: cannot evict a critical pod');
        continue;
      }
      const candidate = { pod, use: uses.get(pod.metadata.uid) };
      if (await this.#evict(candidate, threshold, need, causes)) return true;
    }
    logger.info({}, 'Eviction manager: unable to evict any pods from the node');
    return false;
  }

  async #evict(candidate: Candidate, threshold: Threshold, need: Need, causes: readonly Cause[]): Promise<boolean> {
    const { bus, clock, logger, pods, maxPodGraceSeconds } = this.#options;
    const { pod } = candidate;
    const { uid } = pod.metadata;
    const request = {
      ref: podRefOf(pod),
      failure: pressureFailure(SIGNALS[threshold.signal].resource, candidate, need),
      graceSeconds: graceOf(threshold, candidate, maxPodGraceSeconds),
    };
    try {
      const why = [...causes, ...pods.causesOf(uid)];
      const { result } = await bus.call(evictPod, uid, request, { causes: why });
      if (!result.evicted) return false;
    } catch (error) {
      if (!(error instanceof PeerRestarted) && !(error instanceof CommandFailed)) throw error;
      // Whether it was recorded is unknown: the signals have to be read again before anything else.
      logger.warn({ pod: nameOf(pod), err: toError(error) }, 'Eviction manager: pod failed to evict');
      return true;
    }
    this.#evictions.add({ eviction_signal: threshold.signal });
    logger.info(
      { pod: nameOf(pod), podUID: uid, message: request.failure.message },
      'Eviction manager: evicting a pod',
    );
    const waited = new AbortController();
    const stop = AbortSignal.any([need.signal, waited.signal]);
    const late = sleep(clock, CLEANUP_MS, stop).then(() => waited.abort());
    await pods.end(uid, stop);
    waited.abort();
    await late;
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
