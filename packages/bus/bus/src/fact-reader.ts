import { COMPLETE, type FactDeclaration, decodeToken, factPattern, typeOf } from '@kubus/contracts';
import { type Cancel, type Clock, toError } from '@kubus/ports';
import * as z from 'zod';
import { type Cause, type Envelope, HEADER, checkNotRepeated, checkType, decodeEnvelope } from './envelope.ts';
import { type FactRank, compareRanks, rankOf } from './fact-rank.ts';
import { joinSharing, parseShared, unreadFact } from './fact-value.ts';
import { valueOf } from './payload.ts';
import type { Refusals } from './refusals.ts';
import type { Transport, WireMessage } from './transport.ts';

/** The current value of one key, and its origin. */
export interface Fact<T> {
  readonly key: string;
  readonly value: T;
  /** The owning instance and the epoch in which it wrote this value. */
  readonly source: string;
  readonly epoch: number;
  readonly version: number;
  readonly pod: string | undefined;
  readonly cause: Cause;
  /** RFC 3339: when the owner published it. */
  readonly time: string;
}

export interface FactHandlers<T> {
  /**
   * Values are parsed when they are first read: for a reader that needs few of them, or only their keys. An invalid value is refused only
   * then, and an earlier one stays. Default: at once.
   */
  readonly lazy?: boolean;
  /** A key is new or has a newer value. */
  changed?(fact: Fact<T>): void;
  /** A key was removed: by its owner, or by a later complete set without it. `cause` is the message that removed it. */
  removed?(last: Fact<T>, cause: Cause): void;
  /** `instance` has published its complete set in `epoch`; what earlier epochs left has already been removed. */
  complete?(instance: string, epoch: number, cause: Cause): void;
}

interface Held<T> extends FactRank {
  readonly fact: Fact<T> | undefined;
  readonly source: string;
  /** The message that contained the value or its removal. */
  readonly cause: Cause;
}

interface Completion {
  readonly epoch: number;
  readonly version: number;
  readonly keys: ReadonlySet<string>;
  readonly cause: Cause;
}

/** The payload of a completion mark: the store's keys of the whole set. */
export const completionSchema = z.object({ keys: z.array(z.string()) });

/** How many removed keys are remembered, so that a value from before the removal is not mistaken for a new one. */
const TOMBSTONES = 4096;

/**
 * The reading side of one fact: the newest value per key by its rank (term, epoch, version), whatever the order of arrival;
 * equal and older ones are dropped. A missing key never means deletion (rule:truth-outside): only a removal mark does, or a later
 * completion mark that does not list the key.
 */
export class FactReader<T> {
  readonly #declaration: FactDeclaration<T>;
  readonly #transport: Transport;
  readonly #clock: Clock;
  readonly #handlers: FactHandlers<T>;
  readonly #refusals: Refusals;
  readonly #held = new Map<string, Held<T>>();
  readonly #completed = new Map<string, Completion>();
  readonly #awaited = new Map<string, Completion>();
  readonly #prefix: string;
  readonly #type: string;
  /** The last state that was passed to the handlers, and the keys about which they are to be notified once everything is loaded. */
  readonly #published = new Map<string, Fact<T>>();
  readonly #pending = new Set<string>();
  /** Keys whose present values were not read yet, each with its message and an earlier fact, if possible one that was read. */
  readonly #unread = new Map<string, { readonly message: WireMessage; readonly earlier: Fact<T> | undefined }>();
  #watch: Cancel | undefined;
  #present = false;
  /** Everything that was stored when the watch was opened has been delivered. */
  #loaded = false;
  #waiting: (() => void)[] = [];

  constructor(options: {
    declaration: FactDeclaration<T>;
    node: string;
    transport: Transport;
    clock: Clock;
    handlers: FactHandlers<T>;
    refusals: Refusals;
  }) {
    this.#declaration = options.declaration;
    this.#transport = options.transport;
    this.#clock = options.clock;
    this.#handlers = options.handlers;
    this.#refusals = options.refusals;
    this.#prefix = factPattern(options.declaration).slice(0, -1);
    this.#type = typeOf(options.declaration);
    joinSharing(options.refusals);
    options.transport.onConnection((connected) => {
      this.#watch?.();
      this.#watch = undefined;
      if (connected) this.#open();
    });
    if (options.transport.connected) this.#open();
  }

  /** The newest value of `key`. */
  get(key: string): Fact<T> | undefined {
    if (this.#unread.has(key)) this.#read(key);
    return this.#published.get(key);
  }

  /** All current facts. */
  [Symbol.iterator](): Iterator<Fact<T>> {
    for (const key of [...this.#unread.keys()]) this.#read(key);
    return this.#published.values();
  }

  /** The last epoch of `instance` whose complete set has been received. */
  completed(instance: string): number | undefined {
    return this.#completed.get(instance)?.epoch;
  }

  /** Resolves once everything that was stored has been delivered after a connection. */
  whenPresent(): Promise<void> {
    if (this.#present) return Promise.resolve();
    return new Promise((resolve) => this.#waiting.push(resolve));
  }

  #open(): void {
    this.#loaded = false;
    this.#watch = this.#transport.watchFacts(factPattern(this.#declaration), {
      message: (message) => {
        try {
          this.#receive(message);
        } catch (error) {
          this.#refusals.refuse(message, toError(error));
        }
      },
      present: () => {
        this.#onLoaded();
        this.#present = true;
        for (const resolve of this.#waiting.splice(0)) resolve();
      },
    });
  }

  #receive(message: WireMessage): void {
    checkNotRepeated(message);
    const envelope = decodeEnvelope(message.headers, this.#clock.now());
    const version = Number(message.headers[HEADER.version]);
    const tail = message.subject.slice(message.subject.indexOf(this.#prefix) + this.#prefix.length);
    if (tail.startsWith(`${COMPLETE}.`)) {
      this.#receiveComplete(envelope, version, message);
      return;
    }
    const key = decodeToken(tail);
    const rank = rankOf(message.headers);
    if (this.#stale(key, envelope, rank)) return;
    const { source, epoch, cause } = envelope;
    const previous = this.#held.get(key)?.fact;
    if (message.headers[HEADER.removed] !== undefined) {
      this.#bury(key, { fact: undefined, source, ...rank, cause });
    } else {
      // Kept even when it is refused: the same value is then refused only once, and the last valid one stays.
      this.#held.set(key, { fact: previous, source, ...rank, cause });
      checkType(envelope, this.#type);
      const fact = this.#factOf(
        { key, source, epoch, version, pod: envelope.pod, cause, time: envelope.time },
        message,
        previous,
      );
      this.#held.set(key, { fact, source, ...rank, cause });
    }
    if (this.#loaded) this.#notify(key, cause);
    else this.#pending.add(key);
    const awaited = this.#awaited.get(source);
    if (awaited !== undefined) this.#tryComplete(source, awaited);
  }

  #factOf(about: Omit<Fact<T>, 'value'>, message: WireMessage, previous: Fact<T> | undefined): Fact<T> {
    if (message.value !== undefined) {
      this.#unread.delete(about.key);
      return { ...about, value: message.value as T };
    }
    const { payload } = this.#declaration;
    const parse = () => parseShared(payload, this.#type, about.cause.id, message.data);
    if (this.#handlers.lazy !== true) return { ...about, value: parse() };
    const unread = this.#unread.get(about.key);
    this.#unread.set(about.key, { message, earlier: unread?.earlier ?? previous });
    return unreadFact(about, parse);
  }

  /** Parses the present value of `key`; one that is invalid is refused, and an earlier one counts again. */
  #read(key: string): void {
    const unread = this.#unread.get(key);
    const fact = this.#published.get(key);
    // Not passed on yet.
    if (unread === undefined || fact !== this.#held.get(key)?.fact) return;
    this.#unread.delete(key);
    const error = errorOf(fact);
    if (error === undefined) return;
    this.#refusals.refuse(unread.message, error);
    const earlier = errorOf(unread.earlier) === undefined ? unread.earlier : undefined;
    const held = this.#held.get(key);
    if (held !== undefined) this.#held.set(key, { ...held, fact: earlier });
    if (earlier === undefined) this.#published.delete(key);
    else this.#published.set(key, earlier);
  }

  /**
   * All stored values have been received. Only now are completion marks applied and handlers called, so that they never
   * see a value that a mark in the same store has removed.
   */
  #onLoaded(): void {
    this.#loaded = true;
    const awaited = [...this.#awaited];
    for (const [source, completion] of awaited) this.#removeMissing(source, completion);
    const pending = [...this.#pending];
    this.#pending.clear();
    for (const key of pending) this.#notify(key, this.#held.get(key)?.cause);
    for (const [source, completion] of awaited) this.#tryComplete(source, completion);
  }

  /** Calls the handlers with the state of `key`, if it has changed since their last call. */
  #notify(key: string, cause: Cause | undefined): void {
    const before = this.#published.get(key);
    const fact = this.#held.get(key)?.fact;
    if (fact === before) return;
    if (fact !== undefined) {
      this.#published.set(key, fact);
      this.#handlers.changed?.(fact);
    } else if (before !== undefined) {
      this.#published.delete(key);
      this.#unread.delete(key);
      this.#handlers.removed?.(before, cause ?? before.cause);
    }
  }

  #stale(key: string, { source }: Envelope, rank: FactRank): boolean {
    const held = this.#held.get(key);
    if (held !== undefined) return compareRanks(rank, held) <= 0;
    const completed = this.#completed.get(source);
    // Published before the mark, which does not list it. One that is listed and not held has come to this instance from another one
    // that no longer lists it: its value only arrives after both marks.
    return completed !== undefined && isBefore(rank, completed) && !completed.keys.has(key);
  }

  /** Remembers a removal, the last {@link TOMBSTONES} of them. */
  #bury(key: string, removal: Held<T>): void {
    this.#held.delete(key);
    this.#held.set(key, removal);
    if (this.#held.size <= TOMBSTONES) return;
    for (const [oldest, held] of this.#held) {
      if (held.fact !== undefined) continue;
      this.#held.delete(oldest);
      return;
    }
  }

  #receiveComplete(envelope: Envelope, version: number, message: WireMessage): void {
    const known = this.#awaited.get(envelope.source) ?? this.#completed.get(envelope.source);
    if (known !== undefined) {
      if (envelope.epoch < known.epoch) return;
      if (envelope.epoch === known.epoch && version <= known.version) return;
    }
    const { keys } = valueOf(completionSchema, message);
    this.#tryComplete(envelope.source, {
      epoch: envelope.epoch,
      version,
      keys: new Set(keys.map((key) => decodeToken(key.slice(this.#prefix.length)))),
      cause: envelope.cause,
    });
  }

  /**
   * A set counts as complete only when every key that it lists has been received in this epoch, and, because keys may have been
   * added after the mark was published, only when all stored values have been received; otherwise it waits. What it does not list is
   * removed in either case: one lost message about a key would otherwise keep all others until the next mark.
   */
  #tryComplete(source: string, completion: Completion): void {
    if (this.#loaded) this.#removeMissing(source, completion);
    if (!this.#loaded || !this.#hasAll(source, completion)) {
      this.#awaited.set(source, completion);
      return;
    }
    this.#awaited.delete(source);
    const first = this.#completed.get(source)?.epoch !== completion.epoch;
    this.#completed.set(source, completion);
    if (first) this.#handlers.complete?.(source, completion.epoch, completion.cause);
  }

  #hasAll(source: string, { keys, epoch }: Completion): boolean {
    return [...keys].every((key) => {
      const held = this.#held.get(key);
      // A key that another instance has published is not missing, whichever of the two owns it now.
      return held !== undefined && (held.source !== source || held.epoch >= epoch);
    });
  }

  /**
   * Keys that were published before the mark and are not in it are removed: left by an earlier epoch, or removed while this reader
   * was not connected.
   */
  #removeMissing(source: string, completion: Completion): void {
    for (const [key, held] of [...this.#held]) {
      if (held.source !== source || !isBefore(held, completion) || completion.keys.has(key)) continue;
      this.#held.delete(key);
      this.#notify(key, completion.cause);
    }
  }
}

/** Why a value cannot be read; undefined when it can. */
function errorOf(fact: Fact<unknown> | undefined): Error | undefined {
  if (fact === undefined) return undefined;
  try {
    const { value: _ } = fact;
    return undefined;
  } catch (error) {
    return toError(error);
  }
}

/** Whether an instance published one before the other, both in its own numbering. */
function isBefore(one: Pick<FactRank, 'epoch' | 'version'>, other: Pick<FactRank, 'epoch' | 'version'>): boolean {
  return one.epoch < other.epoch || (one.epoch === other.epoch && one.version < other.version);
}
