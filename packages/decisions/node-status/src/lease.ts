import * as z from 'zod';

/** The namespace of the nodes' leases. */
export const LEASE_NAMESPACE = 'kube-node-lease';

const ownerSchema = z.looseObject({ apiVersion: z.string(), kind: z.string(), name: z.string(), uid: z.string() });

/** A Lease as returned by the API server. Fields that are not listed here are kept unchanged. */
export const leaseSchema = z.looseObject({
  metadata: z.looseObject({ ownerReferences: z.array(ownerSchema).optional() }),
  spec: z.looseObject({}).prefault({}),
});
export type Lease = z.infer<typeof leaseSchema>;

/**
 * The node's lease, renewed (behaviour:node-object, Lease): it shows that the node is alive, and is removed with the Node object.
 *
 * @param base the Lease in the API server; undefined: it does not exist
 * @param node the Node object that owns it
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
