import type { PodRef } from '@kubus/contracts';
import * as z from 'zod';
import type { ClaimProblem, PodClaim } from './pod-claims.ts';

/** What a node reads of a ResourceClaim (resource.k8s.io/v1). */
export const resourceClaimSchema = z.object({
  metadata: z.object({
    name: z.string(),
    namespace: z.string(),
    uid: z.string().min(1),
    ownerReferences: z.array(z.object({ uid: z.string(), controller: z.boolean().nullish() })).nullish(),
  }),
  status: z
    .object({
      allocation: z
        .object({ devices: z.object({ results: z.array(z.object({ driver: z.string() })).nullish() }).nullish() })
        .nullish(),
      reservedFor: z.array(z.object({ uid: z.string() })).nullish(),
    })
    .nullish(),
});
export type ResourceClaim = z.infer<typeof resourceClaimSchema>;

/** A claim that may be prepared. */
export interface AllocatedClaim {
  readonly uid: string;
  readonly name: string;
  readonly namespace: string;
  /** The drivers that have devices of it, each once. */
  readonly drivers: readonly string[];
}

/**
 * Whether the claim may be prepared for the pod: it is the pod's own where it was made from a template, reserved for the pod, and
 * allocated (behaviour:resource-managers, DRA).
 */
export function allocatedClaim(
  pod: PodRef,
  { claim, owned }: PodClaim,
  { metadata, status }: ResourceClaim,
): AllocatedClaim | ClaimProblem {
  const { uid, name, namespace } = metadata;
  const isOwn = metadata.ownerReferences?.some((one) => one.controller === true && one.uid === pod.uid) === true;
  if (owned && !isOwn) {
    const who = `Pod ${pod.namespace}/${pod.name} (Pod is not owner)`;
    return { problem: `ResourceClaim ${namespace}/${name} was not created for ${who}` };
  }
  if (status?.reservedFor?.some((one) => one.uid === pod.uid) !== true) {
    return { problem: `pod ${pod.name} (${pod.uid}) is not allowed to use ResourceClaim ${claim} (${uid})` };
  }
  const { allocation } = status;
  if (allocation === undefined || allocation === null) return { problem: `ResourceClaim ${name}: not allocated` };
  const drivers = (allocation.devices?.results ?? []).map(({ driver }) => driver);
  return { uid, name, namespace, drivers: [...new Set(drivers)] };
}
