import { idRangeSchema, podAllocationSchema, podRefSchema, refusalSchema } from '@kubus/contracts';
import * as z from 'zod';
import { podClaimSchema } from './claim.ts';

const common = { version: z.literal(1), ref: podRefSchema };

/**
 * What was decided about a pod, kept until nothing of it is left: nobody but its own record can tell after a restart.
 *
 * - `admitted`: with these resources. `awaits`: UIDs of pods that have to end before it is started. `devices`: it is not
 *   started before it has been given devices, which may still be refused.
 * - `rejected`: never to be started.
 * - `evicted`: was admitted, and has to go although its source wants it.
 * - `ending`: nobody wanted it any more. Its place is free again, but not the ids of its user namespace; wanted again, it has to
 *   end before it begins anew.
 */
export const admissionRecordSchema = z.discriminatedUnion('verdict', [
  z.object({
    ...common,
    verdict: z.literal('admitted'),
    allocated: podAllocationSchema,
    claim: podClaimSchema,
    awaits: z.array(z.string()).optional(),
    devices: z.literal('awaited').optional(),
    userNamespace: idRangeSchema.optional(),
  }),
  z.object({ ...common, verdict: z.literal('rejected'), failure: refusalSchema }),
  z.object({
    ...common,
    verdict: z.literal('evicted'),
    failure: refusalSchema,
    allocated: podAllocationSchema,
    userNamespace: idRangeSchema.optional(),
  }),
  z.object({ ...common, verdict: z.literal('ending'), userNamespace: idRangeSchema.optional() }),
]);
export type AdmissionRecord = z.infer<typeof admissionRecordSchema>;
