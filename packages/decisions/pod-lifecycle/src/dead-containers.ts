import type { RuntimeContainer, RuntimePod } from '@kubus/contracts';
import { mayRun, nanosToMs } from './runtime-view.ts';

/** How many containers that have ended are kept (behaviour:garbage-collection, container GC). */
export interface DeadContainerPolicy {
  /** Of each container, besides its running one; negative: all (--maximum-dead-containers-per-container). */
  readonly perContainer: number;
  /** On the whole node; negative: all (--maximum-dead-containers). */
  readonly total: number;
  /** Milliseconds since its creation before which a container is not removed (--minimum-container-ttl-duration). */
  readonly minAgeMs: number;
}

/** The reference's defaults. */
export const defaultDeadContainers: DeadContainerPolicy = { perContainer: 1, total: -1, minAgeMs: 0 };

/** What decides which ended containers of one pod stay. */
export interface DeadContainers {
  readonly policy: DeadContainerPolicy;
  /** Milliseconds since the Unix epoch. */
  readonly now: number;
  /** The containers beyond the limit of the node, see {@link surplusContainers}. */
  readonly surplus: ReadonlySet<string>;
  /**
   * `newest`: the newest run of each container, whatever the limits, because it decides whether there is another one. `limited`: as many
   * as the limits permit. `nothing`: the pod has ended, and none of its containers is kept.
   */
  readonly keeps: 'newest' | 'limited' | 'nothing';
}

/** Whether a container that does not run is old enough to be removed. */
export function isOldEnough({ createdAt }: RuntimeContainer, { minAgeMs }: DeadContainerPolicy, now: number): boolean {
  return minAgeMs === 0 || now - nanosToMs(createdAt) >= minAgeMs;
}

/**
 * The ids of the ended containers that the node has beyond its limit: an equal number of each container is kept, at least one, and
 * if these are still too many, the newest of all.
 */
export function surplusContainers(
  pods: Iterable<Pick<RuntimePod, 'containers'>>,
  policy: DeadContainerPolicy,
  now: number,
): ReadonlySet<string> {
  const { perContainer, total } = policy;
  if (total < 0) return new Set();
  const runs = [...pods].flatMap(({ containers }) => {
    const dead = containers.filter((one) => !mayRun(one) && isOldEnough(one, policy, now));
    return [...Map.groupBy(dead, ({ name }) => name).values()];
  });
  const kept = runs.map((ofOne) => (perContainer < 0 ? ofOne : ofOne.slice(0, perContainer)));
  if (kept.flat().length <= total) return new Set();
  const share = Math.max(1, Math.floor(total / runs.length));
  const shared = kept.flatMap((ofOne) => ofOne.slice(0, share));
  const newestFirst = shared.sort((a, b) => nanosToMs(b.createdAt) - nanosToMs(a.createdAt));
  const stays = new Set(newestFirst.slice(0, total).map(({ id }) => id));
  return new Set(runs.flat().flatMap(({ id }) => (stays.has(id) ? [] : [id])));
}
