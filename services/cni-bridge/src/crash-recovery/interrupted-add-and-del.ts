import {
  type AttachmentRecord,
  type AttachmentState,
  attachmentRecordSchema,
  restoreAttachment,
} from '@kubus/cni-config';
import type { Logger, RecordStore } from '@kubus/ports';

/** An attachment of the previous process. */
export interface RestoredAttachment extends Pick<AttachmentRecord, 'containerId' | 'ifname'> {
  readonly state: AttachmentState;
}

/**
 * The attachments in the journal that the previous process has left. One whose ADD or DEL a crash interrupted comes back in
 * phase `unfinished`, see {@link isInterrupted}. Records that cannot be parsed are logged and stay. Rejects when the
 * journal cannot be read.
 */
export async function restoreAttachments(journal: RecordStore, logger: Logger): Promise<RestoredAttachment[]> {
  const restored: RestoredAttachment[] = [];
  for (const [key, value] of await journal.load()) {
    const parsed = attachmentRecordSchema.safeParse(value);
    if (parsed.success) {
      const { containerId, ifname } = parsed.data;
      restored.push({ containerId, ifname, state: restoreAttachment(parsed.data) });
    } else logger.error({ key, err: parsed.error }, 'cannot parse the record of an attachment; leaving it in place');
  }
  return restored;
}

/**
 * Whether the attachment has to be removed by a DEL of its whole chain because an ADD or a DEL of it did not finish.
 */
export function isInterrupted({ state }: Pick<RestoredAttachment, 'state'>): boolean {
  return state.phase === 'unfinished';
}
