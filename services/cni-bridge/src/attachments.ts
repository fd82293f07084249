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
  attachmentRecordSchema,
  isBusy,
  passesResultOn,
  recordKey,
  restoreAttachment,
  toCniError,
} from '@kubus/cni-config';
import type { Clock, Logger, RecordStore } from '@kubus/ports';
import type { AttachmentView, BridgeEvents, Caller } from './options.ts';
import { type PluginSteps, attachmentStep } from './plugin-steps.ts';
import type { Release, Turns } from './turns.ts';

export interface AttachmentsOptions {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly journal: RecordStore;
  readonly steps: PluginSteps;
  readonly turns: Turns;
  /** Milliseconds after its ADD before an attachment may be collected. */
  readonly collectAfterMs: number;
  readonly onAttachment?: BridgeEvents['onAttachment'];
}

/** How many removed attachments are remembered; one that is forgotten costs another run of its chain. */
const GONE_KEPT = 1000;

/** What a round of checks found. */
export interface Checks {
  readonly checked: number;
  readonly failed: readonly { readonly attachment: AttachmentView; readonly error: CniError }[];
}

/** What a round of removals did. */
export interface Removals {
  readonly removed: number;
  /** Removals that failed; their records stay, and the next round tries again. */
  readonly failed: readonly { readonly attachment: AttachmentView; readonly error: CniError }[];
}

/** One attachment's lane: its state, and what the operation under way holds. */
interface Lane extends AttachmentKey {
  state: AttachmentState;
  /** The turn that it has while it is worked on. */
  turn?: Release | undefined;
  /** The command whose chain is being run, and until when that must have ended. */
  chain?: { readonly command: string; readonly deadline: number } | undefined;
  /** The trace of who asked last, and when that was: milliseconds since the Unix epoch. */
  traceparent?: string | undefined;
  askedAt?: number | undefined;
  /** Since when it has its turn. */
  begunAt?: number | undefined;
  /** Those who wait for an answer; the first runs the plugins. */
  readonly callers: Map<Ask, Caller>;
}

interface Waiter {
  readonly resolve: (result: CniResult | undefined) => void;
  readonly reject: (error: CniError) => void;
}

/**
 * Every attachment of the node: what is decided by `advance` is done here, one operation at a time per attachment and a
 * bounded number of attachments at once.
 */
export class Attachments {
  readonly #options: AttachmentsOptions;
  readonly #lanes = new Map<string, Lane>();
  readonly #waiters = new Map<Ask, Waiter>();
  /**
   * The keys of attachments that were removed, after a DEL or a failed ADD, the oldest first. A key is looked at only while
   * there is no record: a new ADD makes one, and without one again its removal has succeeded too.
   */
  readonly #gone = new Set<string>();
  #asks = 0;

  constructor(options: AttachmentsOptions) {
    this.#options = options;
  }

  /** The result of the attachment's ADD, run now, under way or recorded. Rejects with a CniError. */
  async add(request: AttachmentRequest, caller: Caller = {}): Promise<CniResult> {
    const result = await this.#ask(request, caller, (ask) => ({ kind: 'add', ask, request }));
    if (result === undefined) {
      throw new CniError(CniCode.internal, 'the chain gave no result');
    }
    return result;
  }

  /**
   * Removes the attachment; `unknown` says how when there is no record of it. Without a record nothing is run for one that
   * this life has removed before: runtimes ask twice for each sandbox, and again after a failed ADD. Rejects with a CniError.
   */
  async remove(key: AttachmentKey, unknown?: AttachmentRequest, caller: Caller = {}): Promise<void> {
    const gone = this.#gone.has(recordKey(key));
    await this.#ask(key, caller, (ask) => ({ kind: 'del', ask, unknown: gone ? undefined : unknown }));
  }

  /** Runs CHECK of the attachment's chain. Rejects with a CniError. */
  async check(key: AttachmentKey, caller: Caller = {}): Promise<void> {
    await this.#ask(key, caller, (ask) => ({ kind: 'check', ask }));
  }

  /**
   * Runs CHECK of every attachment that stands, where its network allows that and has it. One after the other: nobody
   * waits for them, and ADDs are not to.
   */
  async checkAll(): Promise<Checks> {
    const failed: { attachment: AttachmentView; error: CniError }[] = [];
    let checked = 0;
    for (const lane of [...this.#lanes.values()]) {
      if (!canBeChecked(lane.state)) continue;
      try {
        await this.check(lane);
        checked += 1;
      } catch (error) {
        // One that is being removed now is nobody's worry.
        if (lane.state.phase !== 'added') continue;
        checked += 1;
        failed.push({ attachment: viewOf(lane), error: toCniError(error) });
      }
    }
    return { checked, failed };
  }

  /** Every attachment that stands, is being made or removed, or could not be removed. */
  list(): readonly AttachmentView[] {
    return [...this.#lanes.values()].map(viewOf);
  }

  /**
   * Takes over what the journal holds and begins to remove what was not finished. Resolves when it is known; `removals`
   * when the unfinished ones have been dealt with. To be called once, before anything else, when no plugin of an earlier
   * life runs any more.
   */
  async recover(): Promise<{ readonly removals: Promise<Removals> }> {
    const { journal, logger } = this.#options;
    for (const [key, value] of await journal.load()) {
      const parsed = attachmentRecordSchema.safeParse(value);
      if (!parsed.success) {
        logger.error({ key, err: parsed.error }, 'a record of an attachment is not valid; it is left where it is');
        continue;
      }
      const { containerId, ifname } = parsed.data;
      const lane: Lane = { containerId, ifname, state: restoreAttachment(parsed.data), callers: new Map() };
      this.#lanes.set(recordKey(lane), lane);
      this.#options.onAttachment?.(viewOf(lane));
    }
    return { removals: this.#removeAll((lane) => lane.state.phase === 'unfinished') };
  }

  /**
   * Removes the attachments of containers that are not in `liveContainerIds`, the runtime's list as it was at `listedAt`
   * (milliseconds since the Unix epoch): those that had been made long enough before, and those that could not be removed.
   */
  collect(liveContainerIds: ReadonlySet<string>, listedAt: number): Promise<Removals> {
    const newest = listedAt - this.#options.collectAfterMs;
    return this.#removeAll(({ containerId, state }) => {
      const isRipe = state.phase === 'unfinished' || (state.phase === 'added' && state.record.askedAt < newest);
      return isRipe && !liveContainerIds.has(containerId);
    });
  }

  #remember(key: string): void {
    this.#gone.add(key);
    const [oldest] = this.#gone;
    if (this.#gone.size > GONE_KEPT && oldest !== undefined) {
      this.#gone.delete(oldest);
    }
  }

  async #removeAll(isWanted: (lane: Lane) => boolean): Promise<Removals> {
    const wanted = [...this.#lanes.values()].filter(isWanted);
    const errors = await Promise.all(
      wanted.map((lane) =>
        this.remove(lane).then(
          () => undefined,
          (error: unknown) => ({ attachment: viewOf(lane), error: toCniError(error) }),
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
      const lane = this.#laneOf(key);
      lane.traceparent = caller.traceparent;
      lane.askedAt = this.#options.clock.now();
      lane.callers.set(ask, caller);
      this.#input(lane, input(ask));
    });
  }

  #laneOf({ containerId, ifname }: AttachmentKey): Lane {
    const key = recordKey({ containerId, ifname });
    const lane = this.#lanes.get(key) ?? { containerId, ifname, state: { phase: 'absent' }, callers: new Map() };
    this.#lanes.set(key, lane);
    return lane;
  }

  #input(lane: Lane, input: AttachmentInput): void {
    const before = lane.state.phase;
    const { state, operation, answers } = advance(lane.state, input);
    lane.state = state;
    if (operation !== undefined) {
      void this.#operate(lane, operation);
    }
    if (before === 'removing' && state.phase === 'absent' && input.kind === 'done') {
      this.#remember(recordKey(lane));
    }
    if (!isBusy(state)) {
      this.#rest(lane);
    }
    if (state.phase !== before) {
      this.#options.onAttachment?.(viewOf(lane));
    }
    for (const answer of answers) {
      lane.callers.delete(answer.ask);
      this.#answer(answer);
    }
  }

  /** Nothing is under way any more. */
  #rest(lane: Lane): void {
    lane.turn?.();
    lane.turn = undefined;
    lane.chain = undefined;
    if (lane.state.phase === 'absent') {
      this.#lanes.delete(recordKey(lane));
    }
  }

  async #operate(lane: Lane, operation: Operation): Promise<void> {
    if (lane.turn === undefined) {
      lane.turn = await this.#options.turns.take();
      lane.begunAt = this.#options.clock.now();
    }
    let outcome: AttachmentInput;
    try {
      outcome = { kind: 'done', result: await this.#perform(lane, operation) };
    } catch (error) {
      outcome = { kind: 'failed', error: toCniError(error, CniCode.ioFailure) };
    }
    this.#input(lane, outcome);
  }

  async #perform(lane: Lane, operation: Operation): Promise<CniResult | undefined> {
    const { journal, steps } = this.#options;
    switch (operation.kind) {
      case 'record':
        await journal.put(recordKey(lane), operation.record);
        return undefined;
      case 'forget':
        await journal.delete(recordKey(lane));
        return undefined;
      case 'plugin': {
        const { command } = operation;
        // The undo of an ADD gets the time of a chain of its own.
        if (lane.chain?.command !== command) {
          lane.chain = { command, deadline: steps.chainDeadline() };
        }
        const [caller] = lane.callers.values();
        return steps.run(attachmentStep(operation, lane), lane.chain.deadline, caller?.plugins);
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

function viewOf({ containerId, ifname, state }: Lane): AttachmentView {
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
