import { podAllocationSchema, podRefSchema, refusalSchema } from '@kubus/contracts';
import * as z from 'zod';
import { podClaimSchema } from './claim.ts';

const common = { version: z.literal(1), ref: podRefSchema };

/**
 * What was decided about a pod, kept until nothing of it is left: nobody but its own record can tell after a restart.
 *
 * - `admitted`: with these resources. `awaits`: UIDs of pods that have to end before it is started.
 * - `rejected`: never to be started.
 * - `evicted`: was admitted, and has to go although its source wants it.
 */
export const admissionRecordSchema = z.discriminatedUnion('verdict', [
  z.object({
    ...common,
    verdict: z.literal('admitted'),
    allocated: podAllocationSchema,
    claim: podClaimSchema,
    awaits: z.array(z.string()).optional(),
  }),
  z.object({ ...common, verdict: z.literal('rejected'), failure: refusalSchema }),
  z.object({
    ...common,
    verdict: z.literal('evicted'),
    failure: refusalSchema,
    allocated: podAllocationSchema,
  }),
]);
export type AdmissionRecord = z.infer<typeof admissionRecordSchema>;
