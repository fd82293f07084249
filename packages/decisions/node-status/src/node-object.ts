import { type ClusterNode, taintSchema } from '@kubus/contracts';
import * as z from 'zod';

const strings = z.record(z.string(), z.string());

/** One of the `status.conditions` of a Node object. Times are RFC 3339 in whole seconds. */
const nodeConditionSchema = z.looseObject({
  type: z.string(),
  status: z.string(),
  lastHeartbeatTime: z.string().nullish(),
  lastTransitionTime: z.string().nullish(),
  reason: z.string().optional(),
  message: z.string().optional(),
});
export type NodeCondition = z.infer<typeof nodeConditionSchema>;

const nodeAddressSchema = z.object({ type: z.string(), address: z.string() });
export type NodeAddress = z.infer<typeof nodeAddressSchema>;

const nodeStatusSchema = z.looseObject({
  capacity: strings.optional(),
  allocatable: strings.optional(),
  conditions: z.array(nodeConditionSchema).optional(),
  addresses: z.array(nodeAddressSchema).optional(),
  nodeInfo: z.looseObject({ bootID: z.string().optional() }).optional(),
  volumesInUse: z.array(z.string()).optional(),
  volumesAttached: z.array(z.looseObject({ name: z.string() })).optional(),
});

/** A Node object as returned by the API server. Fields that are not listed here are kept unchanged. */
export const nodeObjectSchema = z.looseObject({
  metadata: z.looseObject({
    name: z.string(),
    uid: z.string().default(''),
    resourceVersion: z.string().default(''),
    labels: strings.optional(),
    annotations: strings.optional(),
    deletionTimestamp: z.string().nullish(),
  }),
  spec: z
    .looseObject({
      podCIDR: z.string().optional(),
      podCIDRs: z.array(z.string()).optional(),
      taints: z.array(taintSchema).optional(),
      unschedulable: z.boolean().optional(),
    })
    .prefault({}),
  status: nodeStatusSchema.prefault({}),
});
export type NodeObject = z.infer<typeof nodeObjectSchema>;
export type NodeStatus = NodeObject['status'];

/** The Node object in the form in which it is published to other services. */
export function clusterNodeOf({ metadata, spec, status }: NodeObject): ClusterNode {
  const { name, uid, resourceVersion, labels = {}, annotations = {}, deletionTimestamp } = metadata;
  const { podCIDR = '', podCIDRs = podCIDR === '' ? [] : [podCIDR], taints = [], unschedulable = false } = spec;
  const { addresses = [], capacity = {}, allocatable = {}, volumesInUse = [], volumesAttached = [] } = status;
  return {
    ...{ name, uid, resourceVersion, labels, annotations, taints, unschedulable, podCIDRs },
    ...{ addresses, capacity, allocatable, volumesInUse },
    volumesAttached: volumesAttached.map((one) => one.name),
    deleting: typeof deletionTimestamp === 'string',
  };
}

/** Whether the Node object of the API server reports that the node can run pods. */
export function isReady({ status }: NodeObject): boolean {
  return status.conditions?.find(({ type }) => type === 'Ready')?.status === 'True';
}

/**
 * The node's addresses as reported to its pods (behaviour:pod-status, IPs): internal addresses before external
 * ones, one of each family.
 */
export function hostIpsOf(addresses: readonly NodeAddress[]): readonly string[] {
  const ips = ['InternalIP', 'ExternalIP'].flatMap((wanted) =>
    addresses.flatMap(({ type, address }) => (type === wanted ? [address] : [])),
  );
  const [first] = ips;
  if (first === undefined) return [];
  const other = ips.find((ip) => ip.includes(':') !== first.includes(':'));
  return other === undefined ? [first] : [first, other];
}

/** Whether a `resourceVersion` is greater than another one: within one collection they are comparable numbers (KEP-5504). */
export function isNewer(version: string, than: string): boolean {
  const numbers = /^\d+$/;
  if (!numbers.test(version) || !numbers.test(than)) return version !== than;
  return BigInt(version) > BigInt(than);
}
