import * as z from 'zod';
import { event, fact } from '../declare.ts';
import { nodeEventSchema } from './common.ts';

export const taintSchema = z.object({
  key: z.string(),
  value: z.string().optional(),
  effect: z.string(),
  /** RFC 3339: when a `NoExecute` taint was added. */
  timeAdded: z.string().optional(),
});
export type Taint = z.infer<typeof taintSchema>;

/** The Node object of the API server, as far as other services need it for decisions. */
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
  /** Unique names of volumes: those that the node has reported as in use, and those that the cluster's controller has attached. */
  volumesInUse: z.array(z.string()).default([]),
  volumesAttached: z.array(z.string()).default([]),
  /** Its deletion was requested. */
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
    'The Node object of the API server, keyed by the node’s name. Complete once it has been read; removed when it does not exist.',
});

export const nodeShutdown = fact({
  area: 'node',
  name: 'shutdown',
  key: 'name',
  owner: 'node-agent',
  payload: z.object({
    /** The machine is about to shut down: pods end, and none is admitted. */
    active: z.boolean(),
    /** RFC 3339: since when it is so, or since when it is not. */
    since: z.string(),
  }),
  about: 'Whether the machine is shutting down, keyed by the node’s name.',
});

/** The conditions of a node that is short of something (behaviour:eviction), in the order of the Node object. */
export const pressureConditions = ['MemoryPressure', 'DiskPressure', 'PIDPressure'] as const;
export type PressureCondition = (typeof pressureConditions)[number];

export const nodePressureSchema = z.object({
  /** Which apply, the one that began first first. Empty: the node is short of nothing. */
  conditions: z.array(z.enum(pressureConditions)),
  /** Disk space is so short that no container of a pod that has ended is kept. Default: false. */
  removesEnded: z.boolean().optional(),
});
export type NodePressure = z.infer<typeof nodePressureSchema>;

export const nodePressure = fact({
  area: 'node',
  name: 'pressure',
  key: 'name',
  owner: 'node-agent',
  payload: nodePressureSchema,
  about:
    'What the node is short of, keyed by the node’s name: pods that would use more of it are not admitted (evictionHard, evictionSoft).',
});

export const nodeAgentEvent = event({
  area: 'node',
  name: 'recorded',
  key: 'name',
  publisher: 'node-agent',
  payload: nodeEventSchema,
  about: 'A Kubernetes event about the node, for its operators.',
});
