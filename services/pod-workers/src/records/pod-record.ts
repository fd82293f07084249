import { podSizesSchema } from '@kubus/admission';
import { containerProbesSchema, podRefSchema, podStatusSchema, workerStates } from '@kubus/contracts';
import type { Logger } from '@kubus/ports';
import * as z from 'zod';

/**
 * What a worker needs after a restart that neither the runtime nor a source knows about its pod (rule:own-records).
 * One file per pod; it does not exist while there is nothing to record.
 */
export const podRecordSchema = z.object({
  version: z.literal(1),
  ref: podRefSchema,
  machine: z.object({
    state: z.enum(workerStates),
    graceSeconds: z.number().optional(),
    reason: z.string().optional(),
    forget: z.boolean(),
  }),
  /** Crash-loop and image back-offs by their key. */
  backOffs: z.record(
    z.string(),
    z.object({
      waitMs: z.number(),
      updatedAt: z.number(),
      error: z.string().optional(),
      attempt: z.number().optional(),
    }),
  ),
  /** The last status, for its times and for phases that are final. */
  status: podStatusSchema.optional(),
  /** The last results of its containers' probes, by container id. */
  probes: z.record(z.string(), containerProbesSchema).optional(),
  /** The resources that its cgroup and its containers were last set to. */
  sizes: podSizesSchema.optional(),
});
export type PodRecord = z.infer<typeof podRecordSchema>;

/** Parses a record; undefined when there is none, or it is not valid. */
export function readRecord(uid: string, value: unknown, logger: Logger): PodRecord | undefined {
  if (value === undefined) return undefined;
  const parsed = podRecordSchema.safeParse(value);
  if (!parsed.success) logger.error({ podUid: uid, err: parsed.error }, 'the pod record is not valid');
  return parsed.data;
}
