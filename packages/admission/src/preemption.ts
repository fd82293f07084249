import { isCritical } from '@kubus/container-config';
import type { Pod } from '@kubus/contracts';
import { type QosClass, qosClass } from '@kubus/pod-status';
import { type PodClaim, amount } from './claim.ts';
import type { Shortage } from './resources-fit.ts';

/** A pod that is on the node, and what it holds there. */
export interface Neighbour {
  readonly uid: string;
  readonly claim: PodClaim;
  /** Undefined while its source has not told of it yet. */
  readonly pod: Pod | undefined;
}

/** What is still to be freed, by resource; nothing in it is 0 or less. */
type Needs = ReadonlyMap<string, bigint>;

/**
 * Pods to end so that a critical pod fits (kubelet behaviour 1.17, row 4b): only less important ones, of the better classes
 * only what the worse ones can not give, and of each class the fewest. Undefined when all of them are not enough.
 */
export function preemptionVictims(
  pod: Pod,
  neighbours: readonly Neighbour[],
  shortages: readonly Shortage[],
): readonly string[] | undefined {
  const needs: Needs = new Map(
    shortages.map(({ resource, requested, used, capacity }) => [resource, requested - (capacity - used)]),
  );
  const preemptable = neighbours.filter((one) => one.pod !== undefined && isPreemptable(pod, one.pod));
  const of = (qos: QosClass) => preemptable.filter((one) => one.pod !== undefined && qosClass(one.pod) === qos);
  const [bestEffort, burstable] = [of('BestEffort'), of('Burstable')];
  const guaranteed = fewest(of('Guaranteed'), without(needs, [...bestEffort, ...burstable]));
  const middle = guaranteed && fewest(burstable, without(needs, [...bestEffort, ...guaranteed]));
  const last = guaranteed && middle && fewest(bestEffort, without(needs, [...middle, ...guaranteed]));
  return guaranteed && middle && last && [...last, ...middle, ...guaranteed].map(({ uid }) => uid);
}

function isPreemptable(preemptor: Pod, other: Pod): boolean {
  if (isCritical(preemptor) && !isCritical(other)) return true;
  const [mine, others] = [preemptor.spec.priority, other.spec.priority];
  return mine !== undefined && others !== undefined && mine > others;
}

/** The pod that comes closest to what is needed, again and again; of equals the smaller one. */
function fewest(candidates: readonly Neighbour[], needs: Needs): readonly Neighbour[] | undefined {
  const chosen: Neighbour[] = [];
  for (let left = needs; left.size > 0; left = without(needs, chosen)) {
    const [best] = candidates
      .filter((one) => !chosen.includes(one))
      .sort((a, b) => distance(left, a) - distance(left, b) || compareSize(a, b));
    if (best === undefined) return undefined;
    chosen.push(best);
  }
  return chosen;
}

/** How much would be missing without this pod: every resource weighs the same, whatever its unit. */
function distance(needs: Needs, one: Neighbour): number {
  let sum = 0;
  for (const [resource, need] of needs) {
    const missing = need - freed(one, resource);
    if (missing > 0n) sum += (Number(missing) / Number(need)) ** 2;
  }
  return sum;
}

function compareSize(a: Neighbour, b: Neighbour): number {
  for (const resource of ['memory', 'cpu']) {
    const difference = freed(a, resource) - freed(b, resource);
    if (difference !== 0n) return difference < 0n ? -1 : 1;
  }
  return 0;
}

function without(needs: Needs, pods: readonly Neighbour[]): Needs {
  const left = new Map<string, bigint>();
  for (const [resource, need] of needs) {
    const rest = pods.reduce((missing, one) => missing - freed(one, resource), need);
    if (rest > 0n) left.set(resource, rest);
  }
  return left;
}

function freed({ claim }: Neighbour, resource: string): bigint {
  return resource === 'pods' ? 1n : amount(resource, claim.requests[resource]);
}
