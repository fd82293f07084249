import * as z from 'zod';
import { event, fact } from '../declare.ts';
import { podStatusSchema } from '../pod/index.ts';
import { nodeEventSchema, podEventSchema, podRefSchema, stampSchema } from './common.ts';

/** `finished`: the pod has no local state and its record is removed. */
export const workerStates = ['syncing', 'terminating', 'terminated', 'finished'] as const;
export type WorkerState = (typeof workerStates)[number];

export const podWorkerSchema = z.object({
  ref: podRefSchema,
  state: z.enum(workerStates),
  /** RFC 3339: since when. */
  since: z.string(),
  /** Of `terminated`: its volumes, its cgroup, and all but the last run of each container have been removed. */
  cleaned: z.boolean().optional(),
  /** What failed in the last sync; it will be tried again. */
  error: z.string().optional(),
});
export type PodWorkerReport = z.infer<typeof podWorkerSchema>;

export const podWorker = fact({
  area: 'worker',
  name: 'state',
  key: 'pod',
  owner: 'pod-workers',
  payload: podWorkerSchema,
  about: 'The state of a pod in its worker: syncing, terminating, terminated or finished.',
});

export const podStatusReportSchema = z.object({
  ref: podRefSchema,
  status: podStatusSchema,
  /** The runtime's state from which the status was created. */
  runtime: stampSchema.optional(),
});
export type PodStatusReport = z.infer<typeof podStatusReportSchema>;

export const podStatus = fact({
  area: 'worker',
  name: 'status',
  key: 'pod',
  owner: 'pod-workers',
  payload: podStatusReportSchema,
  about: 'Phase, conditions and container statuses of a pod, as the API shows them.',
});

export const podEvent = event({
  area: 'worker',
  name: 'recorded',
  key: 'pod',
  publisher: 'pod-workers',
  payload: podEventSchema,
  about: 'A Kubernetes event about a pod, for its user.',
});

export const workerNodeEvent = event({
  area: 'worker',
  name: 'nodeRecorded',
  key: 'name',
  publisher: 'pod-workers',
  payload: nodeEventSchema,
  about:
    'A Kubernetes event about the node that a worker has published while it synced pods, for the node’s operators.',
});
