import { type Cause, parseCause } from '@kubus/bus';
import { recordKey } from '@kubus/cni-config';
import type { AttachmentView, PluginEvent } from './options.ts';

/**
 * The causes of plugin runs: for the first plugin of a chain, the message that caused the sandbox; for each other
 * plugin, the run of the one before it.
 */
export class PluginCauses {
  /** By attachment: the run of the last plugin of the running chain. */
  readonly #ended = new Map<string, { readonly command: string; readonly cause: Cause }>();
  /** By container: the cause of its sandbox, which the runtime does not pass to its own loopback plugin. */
  readonly #sandboxes = new Map<string, Cause>();

  /** An attachment has entered another phase. */
  changed(attachment: AttachmentView): void {
    const { phase, containerId, causedBy } = attachment;
    // Known from here on, because other plugins of the sandbox may end before the first one of its chain.
    const ofSandbox = causedBy === undefined ? undefined : parseCause(causedBy);
    if (phase === 'adding' && ofSandbox !== undefined) this.#sandboxes.set(containerId, ofSandbox);
    if (phase === 'absent' || phase === 'added') this.#ended.delete(recordKey(attachment));
    if (phase === 'absent') this.#sandboxes.delete(containerId);
  }

  of(event: PluginEvent): Cause[] {
    const { causedBy, containerId = '', command, askedAt, withStartTime } = event;
    const ofSandbox = causedBy === undefined ? undefined : parseCause(causedBy);
    if (ofSandbox !== undefined) this.#sandboxes.set(containerId, ofSandbox);
    const cause =
      ofSandbox === undefined
        ? this.#sandboxes.get(containerId)
        : { ...ofSandbox, received: askedAt, began: withStartTime };
    const before = this.#ended.get(keyOf(event));
    const causes = before?.command === command ? [before.cause, cause] : [cause];
    return causes.filter((one) => one !== undefined);
  }

  /** A message about the run was published. */
  published(event: PluginEvent, cause: Cause): void {
    if (event.causedBy !== undefined) this.#ended.set(keyOf(event), { command: event.command, cause });
  }
}

function keyOf({ containerId = '', ifname = '' }: PluginEvent): string {
  return recordKey({ containerId, ifname });
}
