import { type Refusal, isExtendedResource } from '@kubus/contracts';
import { type PodClaim, amount, requested } from '../claim.ts';
import type { AdmissionNode } from '../admission-node.ts';

/** A resource of which the node has too little left. */
export interface Shortage {
  readonly resource: string;
  /** Thousandths of a CPU; whole units of everything else. */
  readonly requested: bigint;
  readonly used: bigint;
  readonly capacity: bigint;
}

/** These resources are checked first, in this order; all others follow by name. */
const FIRST = ['cpu', 'memory', 'ephemeral-storage'];

/**
 * The resources that the node lacks for an additional pod (behaviour:admission, row 4). An extended resource that the node
 * does not report is provided elsewhere and is ignored.
 */
export function shortages(claim: PodClaim, others: readonly PodClaim[], { allocatable }: AdmissionNode): Shortage[] {
  const capacityOf = (resource: string) => amount(resource, allocatable[resource]);
  const found: Shortage[] = [];
  const pods = BigInt(others.length);
  if (pods + 1n > capacityOf('pods')) {
    found.push({ resource: 'pods', requested: 1n, used: pods, capacity: capacityOf('pods') });
  }
  const rest = Object.keys(claim.requests).filter((name) => !FIRST.includes(name) && name !== 'pods');
  for (const resource of [...FIRST, ...rest.sort()]) {
    const asked = amount(resource, claim.requests[resource]);
    if (asked === 0n || (isExtendedResource(resource) && allocatable[resource] === undefined)) continue;
    const [used, capacity] = [requested(others, resource), capacityOf(resource)];
    if (asked > capacity - used) found.push({ resource, requested: asked, used, capacity });
  }
  return found;
}

export function shortageRefusal({ resource, requested, used, capacity }: Shortage): Refusal {
  return {
    reason: `OutOf${resource}`,
    message:
      `Node didn't have enough resource: ${resource}, ` +
      `requested: ${requested}, used: ${used}, capacity: ${capacity}`,
  };
}
