import {
  type Answer,
  type Ask,
  type AttachmentInput,
  type AttachmentKey,
  type AttachmentRequest,
  type AttachmentState,
  CniCode,
  CniError,
  type CniResult,
  type Operation,
  addressesOf,
  advance,
  hasHostPorts,
  hostPortInterfaces,
  isBusy,
  passesResultOn,
  recordKey,
  toCniError,
} from '@kubus/cni-config';
import type { ConcurrencyLimit, Release } from '@kubus/flow';
import type { Clock, Logger, RecordStore } from '@kubus/ports';
import { isInterrupted, restoreAttachments } from './crash-recovery/interrupted-add-and-del.ts';
import type { AttachmentView, BridgeEvents, Caller } from './options.ts';
import { type PluginSteps, attachmentStep } from './plugin-steps.ts';

export interface AttachmentsOptions {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly journal: RecordStore;
  readonly steps: PluginSteps;
  readonly concurrency: ConcurrencyLimit;
  /** How old an attachment must be, in milliseconds since its ADD, before it may be collected. */
  readonly collectAfterMs: number;
  readonly onAttachment?: BridgeEvents['onAttachment'];
  readonly onLastHostPort?: BridgeEvents['onLastHostPort'];
}

/** How many removed attachments are remembered; a forgotten one costs another run of its chain. */
const REMOVED_KEPT = 1000;

/** The result of checking attachments. */
export interface Checks {
  readonly checked: number;
  readonly failed: readonly { readonly attachment: AttachmentView; readonly error: CniError }[];
}

/** The result of removing attachments. */
export interface Removals {
  readonly removed: number;
  /** Failed removals; their records stay, and the next removal retries them. */
  readonly failed: readonly { readonly attachment: AttachmentView; readonly error: CniError }[];
}

/** One attachment: its state, and what the running operation needs. */
interface Attachment extends AttachmentKey {
  state: AttachmentState;
  /** Set while an operation runs. */
  release?: Release | undefined;
  /** The command whose chain is running, and its deadline. */
  chain?: { readonly command: string; readonly deadline: number } | undefined;
  /** Trace and time of the last request; milliseconds since the Unix epoch. */
  traceparent?: string | undefined;
  askedAt?: number | undefined;
  /** When the operation started, in milliseconds since the Unix epoch. */
  withStartTime?: number | undefined;
  /** Callers that wait for an answer; the first one runs the plugins. */
  readonly callers: Map<Ask, Caller>;
}

interface Waiter {
  readonly resolve: (result: CniResult | undefined) => void;
  readonly reject: (error: CniError) => void;
}

/**
 * Every attachment of the node: carries out what `advance` decides, one operation at a time per attachment and a
 * bounded number of attachments at once.
 */
export class Attachments {
  readonly #options: AttachmentsOptions;
  readonly #attachments = new Map<string, Attachment>();
  readonly #waiters = new Map<Ask, Waiter>();
  /**
   * The keys of attachments that were removed, after a DEL or a failed ADD, the oldest first. A key is looked up only
   * while there is no record: a new ADD writes one, and once that is deleted its removal has succeeded too.
   */
  readonly #removed = new Set<string>();
  /** Interfaces that host ports went through, until it is known that none does any more. */
  readonly #hadHostPorts = new Set<string>();
  #asks = 0;

  constructor(options: AttachmentsOptions) {
    this.#options = options;
  }

  /** The result of the attachment's ADD: run now, already running, or recorded. Rejects with a CniError. */
  async add(request: AttachmentRequest, caller: Caller = {}): Promise<CniResult> {
    const result = await this.#ask(request, caller, (ask) => ({ kind: 'add', ask, request }));
    if (result === undefined) {
      throw new CniError(CniCode.internal, 'the chain gave no result');
    }
    return result;
  }

  /**
   * Removes the attachment; `unknown` describes one without a record. Without a record, no plugin is run for an
   * attachment that this process has already removed: runtimes send DEL twice for each sandbox, and again after a
   * failed ADD. Rejects with a CniError.
   */
  async remove(key: AttachmentKey, unknown?: AttachmentRequest, caller: Caller = {}): Promise<void> {
    const isRemoved = this.#removed.has(recordKey(key));
    await this.#ask(key, caller, (ask) => ({ kind: 'del', ask, unknown: isRemoved ? undefined : unknown }));
  }

  /** Runs CHECK of the attachment's chain. Rejects with a CniError. */
  async check(key: AttachmentKey, caller: Caller = {}): Promise<void> {
    await this.#ask(key, caller, (ask) => ({ kind: 'check', ask }));
  }

  /**
   * Runs CHECK of every existing attachment whose network supports and allows it; one after the other, since no caller
   * waits and ADDs must not be delayed.
   */
  async checkAll(): Promise<Checks> {
    const failed: { attachment: AttachmentView; error: CniError }[] = [];
    let checked = 0;
    for (const attachment of [...this.#attachments.values()]) {
      if (!canBeChecked(attachment.state)) continue;
      try {
        await this.check(attachment);
        checked += 1;
      } catch (error) {
        // An attachment that is being removed is not reported.
        if (attachment.state.phase !== 'added') continue;
        checked += 1;
        failed.push({ attachment: viewOf(attachment), error: toCniError(error) });
      }
    }
    return { checked, failed };
  }

  /** Every attachment that exists, is being made or removed, or could not be removed. */
  list(): readonly AttachmentView[] {
    return [...this.#attachments.values()].map(viewOf);
  }

  /**
   * Takes over the journal of the previous process and starts to remove what it did not finish. Resolves once the
   * attachments are known; `removals` once the unfinished ones were processed. To be called once, before anything else,
   * when no plugin of the previous process runs any more.
   */
  async recover(): Promise<{ readonly removals: Promise<Removals> }> {
    const { journal, logger } = this.#options;
    for (const restored of await restoreAttachments(journal, logger)) {
      const attachment: Attachment = { ...restored, callers: new Map() };
      this.#attachments.set(recordKey(attachment), attachment);
      this.#options.onAttachment?.(viewOf(attachment));
    }
    return { removals: this.#removeAll(isInterrupted) };
  }

  /**
   * Removes the attachments of containers that are not in `liveContainerIds`, the runtime's list as it was at
   * `listedAt` (milliseconds since the Unix epoch): those that are old enough, and those that could not be removed
   * before.
   */
  collect(liveContainerIds: ReadonlySet<string>, listedAt: number): Promise<Removals> {
    const newest = listedAt - this.#options.collectAfterMs;
    return this.#removeAll(({ containerId, state }) => {
      const isRipe = state.phase === 'unfinished' || (state.phase === 'added' && state.record.askedAt < newest);
      return isRipe && !liveContainerIds.has(containerId);
    });
  }

  #remember(key: string): void {
    this.#removed.add(key);
    const [oldest] = this.#removed;
    if (this.#removed.size > REMOVED_KEPT && oldest !== undefined) {
      this.#removed.delete(oldest);
    }
  }

  async #removeAll(isWanted: (attachment: Attachment) => boolean): Promise<Removals> {
    const wanted = [...this.#attachments.values()].filter(isWanted);
    const errors = await Promise.all(
      wanted.map((attachment) =>
        this.remove(attachment).then(
          () => undefined,
          (error: unknown) => ({ attachment: viewOf(attachment), error: toCniError(error) }),
        ),
      ),
    );
    const failed = errors.filter((error) => error !== undefined);
    return { removed: wanted.length - failed.length, failed };
  }

  #ask(key: AttachmentKey, caller: Caller, input: (ask: Ask) => AttachmentInput): Promise<CniResult | undefined> {
    this.#asks += 1;
    const ask = this.#asks;
    return new Promise((resolve, reject) => {
      this.#waiters.set(ask, { resolve, reject });
      const attachment = this.#attachmentOf(key);
      attachment.traceparent = caller.traceparent;
      attachment.askedAt = this.#options.clock.now();
      attachment.callers.set(ask, caller);
      this.#input(attachment, input(ask));
    });
  }

  #attachmentOf({ containerId, ifname }: AttachmentKey): Attachment {
    const key = recordKey({ containerId, ifname });
    const attachment = this.#attachments.get(key) ?? {
      containerId,
      ifname,
      state: { phase: 'absent' },
      callers: new Map(),
    };
    this.#attachments.set(key, attachment);
    return attachment;
  }

  #input(attachment: Attachment, input: AttachmentInput): void {
    const earlier = attachment.state;
    const before = earlier.phase;
    const { state, operation, answers } = advance(earlier, input);
    attachment.state = state;
    if (state.phase === 'absent') this.#endHostPorts(earlier);
    if (operation !== undefined) {
      void this.#operate(attachment, operation);
    }
    if (before === 'removing' && state.phase === 'absent' && input.kind === 'done') {
      this.#remember(recordKey(attachment));
    }
    if (!isBusy(state)) {
      this.#rest(attachment);
    }
    if (state.phase !== before) {
      this.#options.onAttachment?.(viewOf(attachment));
    }
    for (const answer of answers) {
      attachment.callers.delete(answer.ask);
      this.#answer(answer);
    }
  }

  /** An attachment was removed: its interfaces have no host port any more, unless others go through them. */
  #endHostPorts(removed: AttachmentState): void {
    if (removed.phase === 'absent' || !hasHostPorts(removed.record)) return;
    for (const name of hostPortInterfaces(removed.record)) this.#hadHostPorts.add(name);
    for (const { state } of this.#attachments.values()) {
      if (state.phase === 'absent' || !hasHostPorts(state.record)) continue;
      // Its interfaces are not known yet; its own end comes back here.
      if (state.phase === 'adding') return;
      for (const name of hostPortInterfaces(state.record)) this.#hadHostPorts.delete(name);
    }
    if (this.#hadHostPorts.size > 0) this.#options.onLastHostPort?.([...this.#hadHostPorts]);
    this.#hadHostPorts.clear();
  }

  /** No operation is running. */
  #rest(attachment: Attachment): void {
    attachment.release?.();
    attachment.release = undefined;
    attachment.chain = undefined;
    if (attachment.state.phase === 'absent') {
      this.#attachments.delete(recordKey(attachment));
    }
  }

  async #operate(attachment: Attachment, operation: Operation): Promise<void> {
    if (attachment.release === undefined) {
      attachment.release = await this.#options.concurrency.take();
      attachment.withStartTime = this.#options.clock.now();
    }
    let outcome: AttachmentInput;
    try {
      outcome = { kind: 'done', result: await this.#perform(attachment, operation) };
    } catch (error) {
      outcome = { kind: 'failed', error: toCniError(error, CniCode.ioFailure) };
    }
    this.#input(attachment, outcome);
  }

  async #perform(attachment: Attachment, operation: Operation): Promise<CniResult | undefined> {
    const { journal, steps } = this.#options;
    switch (operation.kind) {
      case 'record':
        await journal.put(recordKey(attachment), operation.record);
        return undefined;
      case 'forget':
        await journal.delete(recordKey(attachment));
        return undefined;
      case 'plugin': {
        const { command } = operation;
        // The undo of an ADD has a deadline of its own.
        if (attachment.chain?.command !== command) {
          attachment.chain = { command, deadline: steps.chainDeadline() };
        }
        const [caller] = attachment.callers.values();
        return steps.run(attachmentStep(operation, attachment), attachment.chain.deadline, caller?.plugins);
      }
    }
  }

  #answer({ ask, outcome }: Answer): void {
    const waiter = this.#waiters.get(ask);
    this.#waiters.delete(ask);
    if ('error' in outcome) {
      waiter?.reject(outcome.error);
    } else {
      waiter?.resolve(outcome.result);
    }
  }
}

function canBeChecked(state: AttachmentState): boolean {
  return state.phase === 'added' && !state.record.network.disableCheck && passesResultOn(state.record.network);
}

function viewOf({ containerId, ifname, state }: Attachment): AttachmentView {
  if (state.phase === 'absent') {
    return { containerId, ifname, phase: 'absent', ips: [] };
  }
  const { record, phase } = state;
  const result = phase === 'added' || phase === 'checking' ? record.result : undefined;
  return {
    containerId,
    ifname,
    phase,
    pod: record.pod,
    netns: record.netns,
    network: record.network.name,
    plugins: record.network.plugins.map(({ type }) => type),
    askedAt: record.askedAt,
    causedBy: record.causedBy,
    ips: result === undefined ? [] : addressesOf(result, ifname),
    result,
    error: phase === 'unfinished' ? state.error.message : undefined,
  };
}
