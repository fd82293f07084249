import * as z from 'zod';
import { fact } from '../declare.ts';
import { podSchema, resourceRequirementsSchema } from '../pod/index.ts';
import { podRefSchema, stampSchema } from './common.ts';
import { sourceNames } from './config.ts';

/** The resources that a pod has been granted, or that it wants instead (KEP-1287). */
export const podAllocationSchema = z.object({
  /** `metadata.generation` of the pod that asked for them. */
  generation: z.int().optional(),
  /** Those of the pod as a whole, where it has any. */
  pod: resourceRequirementsSchema.optional(),
  /** By the name of an init or a regular container. */
  containers: z.record(z.string(), resourceRequirementsSchema),
});
export type PodAllocation = z.infer<typeof podAllocationSchema>;

/** Ids that every user namespace is made of, and a range of them begins at a multiple of (KEP-127). */
export const ID_UNIT = 65_536;

const idsSchema = z.int().positive().multipleOf(ID_UNIT);

/** The ids of the host, those of users and of groups alike, that a pod's user namespace maps from 0 on. */
export const idRangeSchema = z.object({ hostId: idsSchema, length: idsSchema });
export type IdRange = z.infer<typeof idRangeSchema>;

/** Why something is not granted: a reason such as `OutOfcpu`, and a text for people. */
export const refusalSchema = z.object({ reason: z.string(), message: z.string() });
export type Refusal = z.infer<typeof refusalSchema>;

export const podWorkSchema = z.object({
  ref: podRefSchema,
  /** The pod as desired now, with the resources that it has been granted. Missing for one that only the runtime knows. */
  pod: podSchema.optional(),
  source: z.enum([...sourceNames, 'runtime']),
  /**
   * `sync`: make it so. `reject`: the node does not take the pod, which has failed for good. `evict`: end it and keep it
   * as failed. `kill`: end it and remove what is left. From none of these a pod goes back to an earlier one.
   */
  work: z.enum(['sync', 'reject', 'evict', 'kill']),
  /** Why, for people: `desired`, `removed from its source`, `not desired by any source`, ... */
  reason: z.string(),
  /** The pod-workers instance that has the pod. */
  worker: z.string(),
  /**
   * Grows when the pod is given to another instance: who has it under a greater term has it, whatever one before may still
   * say or do. Missing: 0.
   */
  term: z.int().nonnegative().optional(),
  /** RFC 3339: when this node first heard of the pod. */
  firstSeen: z.string(),
  /** Grace period in seconds that replaces the pod's own when it is smaller. */
  graceSeconds: z.int().nonnegative().optional(),
  /** Of `reject` and `evict`: why the pod has failed. */
  failure: refusalSchema.optional(),
  /** The ids that a pod with users of its own has until nothing of it is left. Missing: it uses the host's, or none are free. */
  userNamespace: idRangeSchema.optional(),
  /** `metadata.generation` of the pod whose resources have been granted, where it has one. */
  allocatedGeneration: z.int().optional(),
  /** A resize that waits or can not be: why, and what is wanted. `Infeasible` stands for ever, everything else waits. */
  pendingResize: refusalSchema.extend({ wanted: podAllocationSchema }).optional(),
});
export type PodWork = z.infer<typeof podWorkSchema>;

export const podWork = fact({
  area: 'sync',
  name: 'pod',
  key: 'pod',
  owner: 'sync-loop',
  payload: podWorkSchema,
  about: 'What is to be done with a pod and which worker instance has it. Gone when the pod is finished.',
});

export const podWake = fact({
  area: 'sync',
  name: 'wake',
  key: 'pod',
  owner: 'sync-loop',
  payload: z.object({
    /** The worker should not decide on a status older than this. */
    runtime: stampSchema.optional(),
    reason: z.string(),
  }),
  about: 'The pod needs a look now: its containers changed, or a time has come.',
});
