import { podRefSchema } from '@kubus/contracts';
import * as z from 'zod';

/**
 * Marks a pod whose volumes have to be removed: written before the first volume is made, deleted after the last one
 * was removed (rule:undo). The volumes themselves are read from the machine.
 */
export const volumeRecordSchema = z.object({ version: z.literal(1), ref: podRefSchema });
export type VolumeRecord = z.infer<typeof volumeRecordSchema>;
