import * as z from 'zod';
import { event, fact } from '../declare.ts';
import { podStatusSchema } from '../pod/index.ts';
import { nodeEventSchema, podEventSchema, podRefSchema, stampSchema } from './common.ts';

/** `finished`: nothing of the pod is left on the node and its record is gone. */
export const workerStates = ['syncing', 'terminating', 'terminated', 'finished'] as const;
export type WorkerState = (typeof workerStates)[number];

export const podWorkerSchema = z.object({
  ref: podRefSchema,
  state: z.enum(workerStates),
  /** RFC 3339: since when. */
  since: z.string(),
  /** Of `terminated`: its volumes, its cgroup and all but the last run of each container are gone. */
  cleaned: z.boolean().optional(),
  /** What the last pass could not do; it will be tried again. */
  error: z.string().optional(),
});
export type PodWorkerReport = z.infer<typeof podWorkerSchema>;

export const podWorker = fact({
  area: 'worker',
  name: 'state',
  key: 'pod',
  owner: 'pod-workers',
  payload: podWorkerSchema,
  about: 'Where a pod stands in its worker: syncing, terminating, terminated, finished.',
});

export const podStatusReportSchema = z.object({
  ref: podRefSchema,
  status: podStatusSchema,
  /** The runtime's state from which the status was made. */
  runtime: stampSchema.optional(),
});
export type PodStatusReport = z.infer<typeof podStatusReportSchema>;

export const podStatus = fact({
  area: 'worker',
  name: 'status',
  key: 'pod',
  owner: 'pod-workers',
  payload: podStatusReportSchema,
  about: 'Phase, conditions and container statuses of a pod, as the API would show them.',
});

export const podEvent = event({
  area: 'worker',
  name: 'recorded',
  key: 'pod',
  publisher: 'pod-workers',
  payload: podEventSchema,
  about: 'Something worth telling the pod’s user, as a Kubernetes Event would.',
});

export const workerNodeEvent = event({
  area: 'worker',
  name: 'nodeRecorded',
  key: 'name',
  publisher: 'pod-workers',
  payload: nodeEventSchema,
  about:
    'Something met while pods were worked on that the node’s operators should hear of, as a Kubernetes Event would tell it.',
});
