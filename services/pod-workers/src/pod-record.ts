import { podSizesSchema } from '@kubus/resize';
import { containerProbesSchema, podRefSchema, podStatusSchema, workerStates } from '@kubus/contracts';
import type { Logger } from '@kubus/ports';
import * as z from 'zod';

/**
 * What a worker has to know of a pod after a restart that neither the runtime nor a source can tell (DESIGN rule 11).
 * One file per pod; there is none as long as a pod has nothing worth keeping.
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
  /** The last status, for its times and for phases that never change again. */
  status: podStatusSchema.optional(),
  /** What the probes of its containers said last, by container id. */
  probes: z.record(z.string(), containerProbesSchema).optional(),
  /** What its cgroup and its containers were last given. */
  sizes: podSizesSchema.optional(),
});
export type PodRecord = z.infer<typeof podRecordSchema>;

/** What a record says; undefined when there is none, or none that is understood. */
export function readRecord(uid: string, value: unknown, logger: Logger): PodRecord | undefined {
  if (value === undefined) return undefined;
  const parsed = podRecordSchema.safeParse(value);
  if (!parsed.success) logger.error({ podUid: uid, err: parsed.error }, 'a pod’s record is not understood');
  return parsed.data;
}
