import type { Pod } from '@kubus/contracts';

/** A ResourceClaim that a pod uses. */
export interface PodClaim {
  /** The name of the ResourceClaim object, in the pod's namespace. */
  readonly claim: string;
  /** It was made from a template for this pod, so it has to be the pod's own. */
  readonly owned: boolean;
}

/** Why something cannot go on, in the reference kubelet's words. */
export interface ClaimProblem {
  readonly problem: string;
}

type ClaimPod = Pick<Pod, 'metadata' | 'spec' | 'status'>;

/**
 * The ResourceClaims of a pod, in the order of its spec: by name, from templates, and the one that the scheduler has made for
 * extended resources (behaviour:resource-managers, DRA). A template for which no claim was needed counts for nothing.
 */
export function podClaims(pod: ClaimPod): readonly PodClaim[] | ClaimProblem {
  const found: PodClaim[] = [];
  for (const entry of pod.spec.resourceClaims ?? []) {
    const claim = claimOf(pod, entry);
    if (claim !== undefined && 'problem' in claim) return claim;
    if (claim !== undefined) found.push(claim);
  }
  const extended = pod.status?.extendedResourceClaimStatus?.resourceClaimName;
  return extended === undefined ? found : [...found, { claim: extended, owned: false }];
}

/** Whether a pod uses dynamic resources at all. */
export function hasClaims({ spec, status }: Pick<ClaimPod, 'spec' | 'status'>): boolean {
  return (spec.resourceClaims ?? []).length > 0 || status?.extendedResourceClaimStatus !== undefined;
}

/** The claim of one entry of the pod's spec; undefined: none is needed. */
export function claimOf(
  { metadata, status }: ClaimPod,
  entry: NonNullable<Pod['spec']['resourceClaims']>[number],
): PodClaim | ClaimProblem | undefined {
  const { name, resourceClaimName, resourceClaimTemplateName } = entry;
  if (resourceClaimName !== undefined) return { claim: resourceClaimName, owned: false };
  const pod = `pod "${metadata.namespace}/${metadata.name}"`;
  if (resourceClaimTemplateName === undefined) {
    return { problem: `${pod}, spec.resourceClaim "${name}": none of the supported fields are set` };
  }
  const made = status?.resourceClaimStatuses?.find((one) => one.name === name);
  if (made === undefined) return { problem: `${pod}: ResourceClaim not created yet` };
  return made.resourceClaimName === undefined ? undefined : { claim: made.resourceClaimName, owned: true };
}
