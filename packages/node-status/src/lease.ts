import * as z from 'zod';

/** The namespace of the nodes' leases. */
export const LEASE_NAMESPACE = 'kube-node-lease';

const ownerSchema = z.looseObject({ apiVersion: z.string(), kind: z.string(), name: z.string(), uid: z.string() });

/** A Lease as the API server gives it. What is not named here is kept as it is. */
export const leaseSchema = z.looseObject({
  metadata: z.looseObject({ ownerReferences: z.array(ownerSchema).optional() }),
  spec: z.looseObject({}).prefault({}),
});
export type Lease = z.infer<typeof leaseSchema>;

/**
 * The node's lease, renewed (kubelet behaviour 1.16, Lease): it says that the node lives, and goes with the Node.
 *
 * @param base what the API server has; undefined: there is none
 * @param node the Node that has it
 * @param now RFC 3339 with microseconds
 */
export function renewedLease(
  base: Lease | undefined,
  node: { readonly name: string; readonly uid: string },
  { now, seconds }: { now: string; seconds: number },
): Lease {
  const { name, uid } = node;
  const owner = { apiVersion: 'v1', kind: 'Node', name, uid };
  const others = (base?.metadata.ownerReferences ?? []).filter((one) => one.kind !== 'Node' || one.name !== name);
  const mine = base?.metadata.ownerReferences?.find((one) => one.kind === 'Node' && one.uid === uid) ?? owner;
  return {
    kind: 'Lease',
    apiVersion: 'coordination.k8s.io/v1',
    ...base,
    metadata: { name, namespace: LEASE_NAMESPACE, ...base?.metadata, ownerReferences: [...others, mine] },
    spec: { ...base?.spec, holderIdentity: name, leaseDurationSeconds: seconds, renewTime: now },
  };
}
