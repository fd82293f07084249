import * as z from 'zod';
import { podOf } from './invocation.ts';
import { jsonObjectSchema } from './json.ts';
import { networkConfigSchema } from './network-config.ts';
import type { AttachmentKey } from './plugin-call.ts';
import { cniResultSchema } from './result.ts';

/**
 * The journal's record of one attachment, from before its first plugin runs until its last DEL has ended: it suffices to
 * finish or undo the attachment after a crash between any two steps, with the configuration with which it was created.
 */
export const attachmentRecordSchema = z.object({
  /** Version of this form. */
  version: z.literal(1),
  /**
   * `adding`: ADD of plugin number `completed` may have run or be running; `added`: the whole chain succeeded;
   * `deleting`: DEL was requested; any plugin may already have removed its part.
   */
  state: z.enum(['adding', 'added', 'deleting']),
  containerId: z.string(),
  ifname: z.string(),
  netns: z.string(),
  /** CNI_ARGS as passed by the runtime. */
  args: z.string(),
  pod: z.object({ namespace: z.string(), name: z.string(), uid: z.string() }).optional(),
  network: networkConfigSchema,
  capabilityArgs: jsonObjectSchema,
  /** How many plugins of the chain have finished their ADD. */
  completed: z.int().nonnegative(),
  /** The result of the last plugin that finished its ADD. */
  result: cniResultSchema.optional(),
  /** When ADD was requested: milliseconds since the Unix epoch. */
  askedAt: z.number(),
  /** The message that caused the ADD, as carried by the sandbox. */
  causedBy: z.string().optional(),
});

export type AttachmentRecord = z.infer<typeof attachmentRecordSchema>;

/** What an attachment is requested with; a DEL may include the result that the runtime has kept. */
export type AttachmentRequest = Pick<
  AttachmentRecord,
  'containerId' | 'ifname' | 'netns' | 'args' | 'network' | 'capabilityArgs' | 'askedAt' | 'result' | 'causedBy'
>;

/** The intent: no plugin has run yet. */
export function intentRecord(request: AttachmentRequest): AttachmentRecord {
  return { version: 1, state: 'adding', ...request, pod: podOf(request.args), completed: 0 };
}

/** The record's key in the journal. An interface name contains no ":", so two attachments never share a key. */
export function recordKey({ containerId, ifname }: AttachmentKey): string {
  return `${containerId}:${ifname}`;
}
