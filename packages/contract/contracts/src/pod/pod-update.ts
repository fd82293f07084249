import * as z from 'zod';
import { podSchema } from './pod.ts';

/**
 * What a source's change means for a pod, in the order in which the changes of one merge are delivered.
 * REMOVE: no longer in its source. ADD: new. UPDATE: spec or metadata that matters changed.
 * DELETE: as UPDATE, and the pod is to end (it has a deletionTimestamp). RECONCILE: only its status differs.
 */
export const podOperations = ['REMOVE', 'ADD', 'UPDATE', 'DELETE', 'RECONCILE'] as const;
export type PodOperation = (typeof podOperations)[number];

/** One pod's change in one source. A REMOVE carries the last version of the pod. */
export const podUpdateSchema = z.object({
  operation: z.enum(podOperations),
  /** `file`, `http` or `api`. */
  source: z.string(),
  pod: podSchema,
});
export type PodUpdate = z.infer<typeof podUpdateSchema>;
