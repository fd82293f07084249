import { podRefSchema } from '@kubus/contracts';
import * as z from 'zod';

/**
 * That a pod has volumes which have to be removed: written before the first of them is made, and deleted after the last
 * one is gone (DESIGN rule 6). What there really is, is read from the machine.
 */
export const volumeRecordSchema = z.object({ version: z.literal(1), ref: podRefSchema });
export type VolumeRecord = z.infer<typeof volumeRecordSchema>;
