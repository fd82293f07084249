import type { Pod } from '@kubus/contracts';
import { type QosClass, isCritical, qosClass } from '@kubus/pod';
import { type PodClaim, amount } from '../claim.ts';
import type { Shortage } from './resources-fit.ts';

/** A pod on the node, with the resources that it uses. */
export interface Neighbour {
  readonly uid: string;
  readonly claim: PodClaim;
  /** Undefined until its source has published it. */
  readonly pod: Pod | undefined;
}

/** What still has to be freed, by resource; every amount is above 0. */
type Needs = ReadonlyMap<string, bigint>;

/**
 * Pods that have to end so that a critical pod fits (behaviour:admission, row 4b): only less important pods, a better QoS class
 * only when the worse ones do not suffice, and as few as possible of each class. Undefined when all of them together
 * are not enough.
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

/** Repeatedly picks the pod that comes closest to what is needed; of two equal ones, the smaller one. */
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

/** How much would still be missing if this pod ended: every resource weighs the same, whatever its unit. */
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
