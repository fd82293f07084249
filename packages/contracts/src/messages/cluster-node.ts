import * as z from 'zod';
import { event, fact } from '../declare.ts';
import { nodeEventSchema } from './common.ts';

export const taintSchema = z.object({
  key: z.string(),
  value: z.string().optional(),
  effect: z.string(),
  /** RFC 3339: since when, of a `NoExecute` taint. */
  timeAdded: z.string().optional(),
});
export type Taint = z.infer<typeof taintSchema>;

/** The Node object as the API server has it, as far as other services decide by it. */
export const clusterNodeSchema = z.object({
  name: z.string(),
  uid: z.string(),
  /** The API's `resourceVersion`: compared for equality only. */
  resourceVersion: z.string(),
  labels: z.record(z.string(), z.string()),
  annotations: z.record(z.string(), z.string()),
  taints: z.array(taintSchema),
  unschedulable: z.boolean(),
  /** Address ranges of the node's pods, the primary family first. */
  podCIDRs: z.array(z.string()),
  /** `InternalIP`, `ExternalIP`, `Hostname`, ..., in the object's order. */
  addresses: z.array(z.object({ type: z.string(), address: z.string() })),
  /** Quantities by resource. */
  capacity: z.record(z.string(), z.string()),
  allocatable: z.record(z.string(), z.string()),
  /** Unique names of volumes: those that the node has said it uses, and those that the cluster's controller has attached. */
  volumesInUse: z.array(z.string()).default([]),
  volumesAttached: z.array(z.string()).default([]),
  /** Somebody has asked for its deletion. */
  deleting: z.boolean(),
});
export type ClusterNode = z.infer<typeof clusterNodeSchema>;

export const clusterNode = fact({
  area: 'node',
  name: 'object',
  key: 'name',
  owner: 'node-agent',
  payload: clusterNodeSchema,
  about:
    'The Node object of the API server, keyed by the node’s name. Complete once it has been read; gone when there is none.',
});

export const nodeAgentEvent = event({
  area: 'node',
  name: 'recorded',
  key: 'name',
  publisher: 'node-agent',
  payload: nodeEventSchema,
  about: 'Something about the node that its operators should hear of, as a Kubernetes Event would tell it.',
});
