import type { Pod, Refusal } from '@kubus/contracts';
import { isStatic } from '@kubus/pod';
import { ANY, type PodClaim, claimOf } from '../claim.ts';
import { matchesNode } from './node-affinity.ts';
import type { AdmissionNode } from '../admission-node.ts';
import { type Shortage, shortages } from './resources-fit.ts';
import { isRepelled } from './taints.ts';

const OS_LABEL = 'kubernetes.io/os';
const OS = 'linux';

/**
 * Refusals that cannot be avoided by freeing resources (behaviour:admission, row 4): operating system, supplemental groups
 * policy.
 */
export function refusePlatform(
  { metadata, spec }: Pick<Pod, 'metadata' | 'spec'>,
  { strictSupplementalGroups }: AdmissionNode,
): Refusal | undefined {
  const label = metadata.labels?.[OS_LABEL];
  if (label !== undefined && label !== OS) {
    const message = "Failed to admit pod as the `kubernetes.io/os` label doesn't match node label";
    return { reason: 'PodOSSelectorNodeLabelDoesNotMatch', message };
  }
  if (spec.os !== undefined && spec.os.name !== OS) {
    return { reason: 'PodOSNotSupported', message: "Failed to admit pod as the OS field doesn't match node OS" };
  }
  if (spec.securityContext?.supplementalGroupsPolicy === 'Strict' && !strictSupplementalGroups) {
    const message = 'SupplementalGroupsPolicy=Strict is not supported in this node';
    return { reason: 'SupplementalGroupsPolicyNotSupported', message };
  }
  return undefined;
}

/** Everything that prevents the node from admitting a pod now. Resources are separate, because they can be freed. */
export interface PredicateFailures {
  readonly shortages: readonly Shortage[];
  readonly others: readonly Refusal[];
}

/** All general predicates, ordered by their reasons. */
export function predicateFailures(pod: Pod, others: readonly PodClaim[], node: AdmissionNode): PredicateFailures {
  const claim = claimOf(pod);
  const { nodeName = '', tolerations = [] } = pod.spec;
  return {
    shortages: shortages(claim, others, node),
    others: [
      ...failed('NodeAffinity', "node(s) didn't match Pod's node affinity/selector", !matchesNode(pod, node)),
      ...failed('NodeName', "node(s) didn't match the requested node name", nodeName !== '' && nodeName !== node.name),
      ...failed('NodePorts', "node(s) didn't have free ports for the requested pod ports", portsTaken(claim, others)),
      ...failed(
        'TaintToleration',
        "node(s) had taints that the pod didn't tolerate",
        !isStatic(pod) && isRepelled(node.taints, tolerations),
      ),
    ],
  };
}

function failed(reason: string, text: string, when: boolean): Refusal[] {
  return when ? [{ reason, message: `Predicate ${reason} failed: ${text}` }] : [];
}

/** A port that is open on all addresses conflicts with the same port on any of them. */
function portsTaken({ hostPorts }: PodClaim, others: readonly PodClaim[]): boolean {
  const taken = others.flatMap((other) => other.hostPorts);
  return hostPorts.some(({ protocol, ip, port }) =>
    taken.some(
      (one) => one.protocol === protocol && one.port === port && (one.ip === ip || one.ip === ANY || ip === ANY),
    ),
  );
}
