import * as z from 'zod';

/** A pod by name, for people and for logs; its UID identifies it. */
export const podRefSchema = z.object({ namespace: z.string(), name: z.string(), uid: z.string() });
export type PodRef = z.infer<typeof podRefSchema>;

/**
 * A moment in cri-bridge's order of events: its epoch and a counter that grows with every read of a pod and every end of a
 * command (rule:hints). A read with a greater stamp than a command's end began after that end.
 */
export const stampSchema = z.object({ epoch: z.int().nonnegative(), counter: z.int().nonnegative() });
export type Stamp = z.infer<typeof stampSchema>;

/** Negative when `a` is before `b`, 0 when they are the same moment. */
export function compareStamps(a: Stamp, b: Stamp): number {
  return a.epoch - b.epoch || a.counter - b.counter;
}

export function podRefOf(pod: { metadata: PodRef }): PodRef {
  const { namespace, name, uid } = pod.metadata;
  return { namespace, name, uid };
}

/** A Kubernetes event for a pod’s user; repeats are counted (@kubus/event-correlator). */
export const podEventSchema = z.object({
  ref: podRefSchema,
  type: z.enum(['Normal', 'Warning']),
  /** The reference's reason, such as `Started` or `BackOff`. */
  reason: z.string(),
  message: z.string(),
  /** Such as `spec.containers{web}`. */
  fieldPath: z.string().optional(),
  /** For programs: what the message says, by the reference’s keys. */
  annotations: z.record(z.string(), z.string()).optional(),
  /** How often it has happened so far. */
  count: z.int().positive(),
  /** RFC 3339: when it happened the first and the last time. */
  firstTimestamp: z.string(),
  lastTimestamp: z.string(),
  /** The same for all repeats of an event, and for no other event of the node: the newest one replaces the earlier ones. */
  series: z.string(),
});
export type PodEvent = z.infer<typeof podEventSchema>;

/** The same for the node’s operators: a Kubernetes event about the Node. */
export const nodeEventSchema = podEventSchema
  .omit({ ref: true, fieldPath: true, annotations: true })
  .extend({ /** The node’s name. */ node: z.string() });
export type NodeEvent = z.infer<typeof nodeEventSchema>;
