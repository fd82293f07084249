import { type Cause, parseCause } from '@kubus/bus';
import { recordKey } from '@kubus/cni-config';
import type { AttachmentView, PluginEvent } from './options.ts';

/**
 * What led to the runs of plugins: to the first of a chain the message that had the sandbox made, to each other one the end of
 * the one before it, and to the end of a run its beginning.
 */
export class PluginCauses {
  /** Runs under way, by their number. */
  readonly #begun = new Map<number, Cause>();
  /** By the attachment: the end of the last plugin of the chain under way. */
  readonly #ended = new Map<string, { readonly command: string; readonly cause: Cause }>();
  /** By the container: what had it made. The runtime does not tell that to its own loopback plugin. */
  readonly #sandboxes = new Map<string, Cause>();

  /** An attachment has entered another phase. */
  changed(attachment: AttachmentView): void {
    const { phase, containerId } = attachment;
    if (phase === 'absent' || phase === 'added') this.#ended.delete(recordKey(attachment));
    if (phase === 'absent') this.#sandboxes.delete(containerId);
  }

  of(event: PluginEvent): Cause[] {
    const begun = this.#begun.get(event.run);
    if (begun !== undefined) return [begun];
    const { causedBy, containerId = '', command, askedAt, begunAt } = event;
    const told = causedBy === undefined ? undefined : parseCause(causedBy);
    const cause = told === undefined ? this.#sandboxes.get(containerId) : { ...told, heard: askedAt, began: begunAt };
    if (told !== undefined) this.#sandboxes.set(containerId, told);
    const before = this.#ended.get(keyOf(event));
    const causes = before?.command === command ? [before.cause, cause] : [cause];
    return causes.filter((one) => one !== undefined);
  }

  /** A message about the run was published. */
  told(event: PluginEvent, cause: Cause): void {
    if (event.phase === 'begin') {
      this.#begun.set(event.run, cause);
      return;
    }
    this.#begun.delete(event.run);
    if (event.causedBy !== undefined) this.#ended.set(keyOf(event), { command: event.command, cause });
  }
}

function keyOf({ containerId = '', ifname = '' }: PluginEvent): string {
  return recordKey({ containerId, ifname });
}
