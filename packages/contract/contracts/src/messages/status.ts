import * as z from 'zod';
import { fact } from '../declare.ts';
import { podRefSchema } from './common.ts';

export const statusWriteSchema = z.object({
  /** The pod in the API; for a static pod its mirror pod. */
  ref: podRefSchema,
  /**
   * `written`: the API server has the node's newest status. `waiting`: a newer status is still to be written. `failing`: the
   * last attempt failed and will be repeated. `deleted`: the node has deleted the pod, and nothing is left of it.
   */
  state: z.enum(['written', 'waiting', 'failing', 'deleted']),
  /** RFC 3339: since when. */
  since: z.string(),
  /** `metadata.resourceVersion` that the last write returned. */
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
  about: 'Whether a pod’s newest status has been written to the API server, keyed by the pod’s UID on the node.',
});

export const mirrorPodSchema = z.object({
  /** The static pod on the node. */
  ref: podRefSchema,
  /** UID of its mirror pod in the API. */
  mirrorUid: z.string(),
});
export type MirrorPod = z.infer<typeof mirrorPodSchema>;

export const mirrorPod = fact({
  area: 'status',
  name: 'mirror',
  key: 'pod',
  owner: 'status-manager',
  payload: mirrorPodSchema,
  about: 'The mirror pod of a static pod in the API server, keyed by the static pod’s UID.',
});
