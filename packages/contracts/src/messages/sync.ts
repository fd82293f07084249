import * as z from 'zod';
import { fact } from '../declare.ts';
import { podSchema } from '../pod/index.ts';
import { podRefSchema, stampSchema } from './common.ts';
import { sourceNames } from './config.ts';

export const podWorkSchema = z.object({
  ref: podRefSchema,
  /** The pod as desired now. Missing for a pod that only the runtime knows. */
  pod: podSchema.optional(),
  source: z.enum([...sourceNames, 'runtime']),
  /** `sync`: make it so. `kill`: end it; never goes back to `sync` for the same UID. */
  work: z.enum(['sync', 'kill']),
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
