import { idRangeSchema, podAllocationSchema, podFailureSchema, podRefSchema, refusalSchema } from '@kubus/contracts';
import * as z from 'zod';
import { podClaimSchema } from './claim.ts';

const common = { version: z.literal(1), ref: podRefSchema };

/**
 * The admission verdict about a pod. It is kept until the pod has no local state, because after a restart
 * it is not known from anything else.
 *
 * - `admitted`: with these resources. `awaits`: UIDs of pods that have to end before it is started. `devices`: it must not
 *   be started before devices are allocated to it, which may still be refused. `shortage`: it is rejected in any case, for this
 *   reason unless the allocation has one.
 * - `rejected`: must never be started.
 * - `evicted`: was admitted and is being ended although it is still desired.
 * - `ending`: no longer desired. Its resources are free again, but not the ids of its user namespace. If a
 *   source desires it again, it has to end first.
 */
export const admissionRecordSchema = z.discriminatedUnion('verdict', [
  z.object({
    ...common,
    verdict: z.literal('admitted'),
    allocated: podAllocationSchema,
    claim: podClaimSchema,
    awaits: z.array(z.string()).optional(),
    devices: z.literal('awaited').optional(),
    shortage: refusalSchema.optional(),
    userNamespace: idRangeSchema.optional(),
  }),
  z.object({ ...common, verdict: z.literal('rejected'), failure: refusalSchema }),
  z.object({
    ...common,
    verdict: z.literal('evicted'),
    failure: podFailureSchema,
    /** Missing: the pod's own. */
    graceSeconds: z.int().nonnegative().optional(),
    allocated: podAllocationSchema,
    userNamespace: idRangeSchema.optional(),
  }),
  z.object({ ...common, verdict: z.literal('ending'), userNamespace: idRangeSchema.optional() }),
]);
export type AdmissionRecord = z.infer<typeof admissionRecordSchema>;
