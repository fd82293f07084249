import * as z from 'zod';
import { fact } from '../declare.ts';
import { podRefSchema } from './common.ts';

export const statusWriteSchema = z.object({
  /** The pod in the API; for a static pod its mirror. */
  ref: podRefSchema,
  /**
   * `written`: the API server has what the node says. `waiting`: something newer is still to be written. `failing`: the
   * last try did not succeed, the next one comes. `deleted`: the node has deleted the pod, nothing of which is left.
   */
  state: z.enum(['written', 'waiting', 'failing', 'deleted']),
  /** RFC 3339: since when. */
  since: z.string(),
  /** `metadata.resourceVersion` that the last write gave. */
  resourceVersion: z.string().optional(),
  /** Of `failing`: why, in the API server's words. */
  error: z.string().optional(),
});
export type StatusWrite = z.infer<typeof statusWriteSchema>;

export const statusWrite = fact({
  area: 'status',
  name: 'write',
  key: 'pod',
  owner: 'status-manager',
  payload: statusWriteSchema,
  about: 'How far the API server knows the status of a pod, keyed by the pod’s UID on the node.',
});

export const mirrorPodSchema = z.object({
  /** The static pod on the node. */
  ref: podRefSchema,
  /** UID of its copy in the API. */
  mirrorUid: z.string(),
});
export type MirrorPod = z.infer<typeof mirrorPodSchema>;

export const mirrorPod = fact({
  area: 'status',
  name: 'mirror',
  key: 'pod',
  owner: 'status-manager',
  payload: mirrorPodSchema,
  about: 'The copy of a static pod that the API server has, keyed by the static pod’s UID.',
});
