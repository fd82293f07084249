import { type ClaimExpansion, parseQuantity } from '@kubus/contracts';
import * as z from 'zod';
import type { JsonObject } from './status-patch.ts';

/** A PersistentVolumeClaim in the API server, as far as the size of its volume is concerned. */
export const claimSchema = z.object({
  metadata: z.object({ uid: z.string(), resourceVersion: z.string() }),
  status: z
    .object({
      capacity: z.record(z.string(), z.string()).optional(),
      conditions: z.array(z.object({ type: z.string() })).optional(),
      allocatedResourceStatuses: z.record(z.string(), z.string()).optional(),
    })
    .optional(),
});
export type ClaimStatus = z.infer<typeof claimSchema>;

/** Conditions about the expansion of a claim's volume (pkg/volume/util of the reference, resize). */
const RESIZING: readonly string[] = ['Resizing', 'FileSystemResizePending', 'ControllerResizeError', 'NodeResizeError'];

/**
 * The strategic merge patch of the status of a claim whose volume was expanded on this node. Undefined: none is needed,
 * because it is another claim, or already has at least that size.
 */
export function expansionPatch(
  { metadata, status = {} }: ClaimStatus,
  { claimUid, capacity }: ClaimExpansion,
): JsonObject | undefined {
  const { uid, resourceVersion } = metadata;
  const [had, has] = [parseQuantity(status.capacity?.['storage'] ?? '0'), parseQuantity(capacity)];
  if (uid !== claimUid || had === undefined || has === undefined || had.nano >= has.nano) return undefined;
  const over = (status.conditions ?? []).filter(({ type }) => RESIZING.includes(type));
  return {
    metadata: { uid, resourceVersion },
    status: {
      capacity: { storage: capacity },
      ...(over.length > 0 && { conditions: over.map(({ type }) => ({ $patch: 'delete', type })) }),
      ...(status.allocatedResourceStatuses?.['storage'] !== undefined && {
        allocatedResourceStatuses: { storage: null },
      }),
    },
  };
}
