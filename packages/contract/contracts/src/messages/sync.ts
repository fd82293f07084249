import * as z from 'zod';
import { command, fact } from '../declare.ts';
import { podSchema, resourceRequirementsSchema } from '../pod/index.ts';
import { podRefSchema, stampSchema } from './common.ts';
import { sourceNames } from './config.ts';
import { evictionDecisionSchema } from './pressure.ts';

/** The resources that are allocated to a pod, or that it requests instead (KEP-1287). */
export const podAllocationSchema = z.object({
  /** `metadata.generation` of the pod that requested them. */
  generation: z.int().optional(),
  /** Those of the pod as a whole, where it has any. */
  pod: resourceRequirementsSchema.optional(),
  /** By the name of an init or a regular container. */
  containers: z.record(z.string(), resourceRequirementsSchema),
});
export type PodAllocation = z.infer<typeof podAllocationSchema>;

/** The number of ids in every user namespace; each range of ids begins at a multiple of it (KEP-127). */
export const ID_UNIT = 65_536;

const idsSchema = z.int().positive().multipleOf(ID_UNIT);

/** The ids of the host, those of users and of groups alike, that a pod's user namespace maps from 0 on. */
export const idRangeSchema = z.object({ hostId: idsSchema, length: idsSchema });
export type IdRange = z.infer<typeof idRangeSchema>;

/** Why something is not granted: a reason such as `OutOfcpu`, and a text for people. */
export const refusalSchema = z.object({ reason: z.string(), message: z.string() });
export type Refusal = z.infer<typeof refusalSchema>;

/** Why a pod has failed without its containers. */
export const podFailureSchema = refusalSchema.extend({
  /** The node ends the pod for its own sake: the condition DisruptionTarget has the same message (KEP-3329). */
  disrupts: z.boolean().optional(),
  /** Annotations of the Kubernetes event about it. */
  annotations: z.record(z.string(), z.string()).optional(),
});
export type PodFailure = z.infer<typeof podFailureSchema>;

export const podWorkSchema = z.object({
  ref: podRefSchema,
  /** The desired pod with the resources that are allocated to it. Missing for one that only the runtime knows. */
  pod: podSchema.optional(),
  source: z.enum([...sourceNames, 'runtime']),
  /**
   * `sync`: bring the pod to its desired state. `reject`: the node does not admit the pod, so it has failed. `evict`: end
   * it and keep it as failed. `kill`: end it and remove what is left. A pod never returns to an earlier one of these.
   */
  work: z.enum(['sync', 'reject', 'evict', 'kill']),
  /** Why, for people: `desired`, `removed from its source`, `not desired by any source`, ... */
  reason: z.string(),
  /** The pod-workers instance that owns the pod. */
  worker: z.string(),
  /**
   * Increases when another instance becomes the owner of the pod: the owner with the greatest term counts, whatever an earlier
   * owner still publishes or does. Default: 0.
   */
  term: z.int().nonnegative().optional(),
  /** RFC 3339: when this node first saw the pod. */
  firstSeen: z.string(),
  /** Grace period in seconds, which replaces the pod's own when it is shorter. */
  graceSeconds: z.int().nonnegative().optional(),
  /** Of `reject` and `evict`: why the pod has failed. */
  failure: podFailureSchema.optional(),
  /** The ids of a pod with a user namespace, until nothing of it is left. Missing: it uses the host's, or none are free. */
  userNamespace: idRangeSchema.optional(),
  /** `metadata.generation` of the pod whose resources have been allocated, where it has one. */
  allocatedGeneration: z.int().optional(),
  /** A resize that is deferred or infeasible: the reason, and the desired resources. `Infeasible` is final; any other reason is pending. */
  pendingResize: refusalSchema.extend({ wanted: podAllocationSchema }).optional(),
});
export type PodWork = z.infer<typeof podWorkSchema>;

export const podWork = fact({
  area: 'sync',
  name: 'pod',
  key: 'pod',
  owner: 'sync-loop',
  payload: podWorkSchema,
  about: 'What is to be done with a pod, and which worker instance owns it. Removed when the pod is finished.',
});

export const evictPod = command({
  area: 'sync',
  name: 'evict',
  key: 'pod',
  server: 'sync-loop',
  fenced: false,
  request: z.object({
    ref: podRefSchema,
    failure: podFailureSchema,
    /** Seconds from SIGTERM to SIGKILL, if the pod’s own are not fewer. */
    graceSeconds: z.int().nonnegative(),
    /** Why it has to go, and why this one. Missing: it exceeds its own limits. */
    decision: evictionDecisionSchema.optional(),
  }),
  result: z.object({
    /** It is being ended, or was before. False: it is not an admitted pod that is still active. */
    evicted: z.boolean(),
  }),
  about:
    'End an admitted pod that the node cannot afford any more: answered when that is recorded, so that no restart starts it again.',
});

export const shutdownProgress = fact({
  area: 'sync',
  name: 'shutdown',
  key: 'name',
  owner: 'sync-loop',
  payload: z.object({
    /** The `since` of the shutdown that it is about. */
    since: z.string(),
    /** Every pod has ended or exceeded its grace period: the machine need not wait any longer. */
    done: z.boolean(),
  }),
  about: 'How far the pods have been ended for a shutdown of the machine, keyed by the node’s name; gone without one.',
});

export const podWake = fact({
  area: 'sync',
  name: 'wake',
  key: 'pod',
  owner: 'sync-loop',
  isSuperseded: true,
  payload: z.object({
    /** The worker should not decide on a status that is older than this. */
    runtime: stampSchema.optional(),
    reason: z.string(),
  }),
  about:
    'The pod needs a sync now: its containers have changed. Published only for pods of workers that do not announce that they follow `runtime.fact.pod/1`.',
});
