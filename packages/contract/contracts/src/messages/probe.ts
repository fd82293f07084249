import * as z from 'zod';
import { event, fact } from '../declare.ts';
import { podEventSchema, podRefSchema } from './common.ts';

/** `unknown`: not yet probed often enough. */
export const probeResultSchema = z.enum(['success', 'failure', 'unknown']);
export type ProbeResult = z.infer<typeof probeResultSchema>;

/** The result of each probe of one run of a container; missing for a probe that the container does not have. */
export const containerProbesSchema = z.object({
  startup: probeResultSchema.optional(),
  liveness: probeResultSchema.optional(),
  readiness: probeResultSchema.optional(),
});
export type ContainerProbes = z.infer<typeof containerProbesSchema>;

export const podProbesSchema = z.object({
  ref: podRefSchema,
  /** By the runtime's container id: a result never counts for a later run. */
  containers: z.record(z.string(), containerProbesSchema),
});
export type PodProbes = z.infer<typeof podProbesSchema>;

export const podProbes = fact({
  area: 'probe',
  name: 'results',
  key: 'pod',
  owner: 'prober',
  payload: podProbesSchema,
  about: 'The current probe results of a pod’s containers. Published when a result changes, not with every probe.',
});

export const probeEvent = event({
  area: 'probe',
  name: 'recorded',
  key: 'pod',
  publisher: 'prober',
  payload: podEventSchema,
  about: 'A Kubernetes event: a probe failed or could not be run.',
});
