import { type FactDeclaration, completeKey, factKey, factPattern } from '@kubus/contracts';
import { type Cancel, type Clock, type Logger, toError } from '@kubus/ports';
import { type Cause, HEADER, decodeEnvelope } from './envelope.ts';
import { compareRanks, rankOf } from './fact-rank.ts';
import { type Payload, payloadOf, withPayload } from './payload.ts';
import type { Publisher, PublisherId } from './publisher.ts';
import { MessageTooLarge, type Transport } from './transport.ts';

/** Delay before facts that could not be stored are stored again while connected, in milliseconds; twice as long after each failure, ... */
const RETRY_MS = 1_000;
/** ... up to this. */
const RETRY_AT_MOST_MS = 60_000;

/**
 * Time after a removal until the completion mark is published again without the removed key, in milliseconds. A reader that starts later
 * waits for every key of the mark, so a removed key must be absent from it before its removal mark is purged from the store: until then the
 * store keeps the marks of all pods that have ended.
 */
const RECOMPLETE_MS = 30_000;

/** How long an owner among others remembers its removals, in milliseconds. */
const REMEMBER_MS = 60_000;

/** How long after a connection the store is compared with the owner's entries, in milliseconds. */
const SWEEP_MS = 30_000;

/** The payload of a mark that a key is removed. */
const NOTHING: Payload = { data: '' };

interface Entry {
  readonly key: string;
  readonly payload: Payload;
  readonly headers: Readonly<Record<string, string>>;
  readonly removed: boolean;
  stored: boolean;
}

export interface FactPutOptions {
  /** UID of the pod that the fact is about. */
  pod?: string | undefined;
  causes?: readonly Cause[] | undefined;
}

/**
 * The writing side of one fact (rule:truth-outside to 3). It keeps every current value itself: the fact store is a copy for
 * readers. On each connection it publishes everything again, followed by the mark that the set is complete, so that a
 * store that restarted empty is filled again and keys of earlier epochs of this instance are removed.
 */
export class FactOwner<T> {
  readonly #declaration: FactDeclaration<T>;
  readonly #publisherId: PublisherId;
  readonly #publisher: Publisher;
  readonly #transport: Transport;
  readonly #clock: Clock;
  readonly #logger: Logger;
  readonly #markKey: string;
  readonly #entries = new Map<string, Entry>();
  /** By the store's key: the term in which this instance owns it. */
  readonly #terms = new Map<string, number>();
  /** Keys that were released, until another instance is known to own them. */
  readonly #released = new Set<string>();
  /** By key: entries that could not be stored, and are to be stored again. */
  readonly #failed = new Map<string, Entry>();
  /** Keys whose values are too large for the bus. */
  readonly #tooLarge = new Set<string>();
  #version = 0;
  #complete = false;
  #retry: Cancel | undefined;
  #retryMs = RETRY_MS;
  #sweep: Cancel | undefined;
  #shared = false;
  #recomplete: Cancel | undefined;
  #forget: Cancel | undefined;

  constructor(options: {
    declaration: FactDeclaration<T>;
    publisherId: PublisherId;
    publisher: Publisher;
    transport: Transport;
    clock: Clock;
    logger: Logger;
  }) {
    this.#declaration = options.declaration;
    this.#publisherId = options.publisherId;
    this.#markKey = completeKey(options.declaration, options.publisherId.instance);
    this.#publisher = options.publisher;
    this.#transport = options.transport;
    this.#clock = options.clock;
    this.#logger = options.logger;
    options.transport.onConnection((connected) => {
      this.#sweep?.();
      this.#endRetries();
      // The next connection starts with a complete set and its mark.
      this.#recomplete?.();
      this.#forget?.();
      this.#recomplete = this.#forget = undefined;
      if (connected) this.#republish();
    });
  }

  /** Replaces the value under `key`. Returns the cause to which later messages refer. */
  put(key: string, value: T, options: FactPutOptions = {}): Cause {
    return this.#set(factKey(this.#declaration, key), payloadOf(this.#transport, value), false, options);
  }

  /**
   * Removes `key`; readers are notified, including later ones. Does nothing when it does not exist. Without causes it refers to
   * the last message about the key. Returns the cause to which later messages refer; undefined when nothing was published.
   */
  remove(key: string, options: FactPutOptions = {}): Cause | undefined {
    const stored = factKey(this.#declaration, key);
    const entry = this.#entries.get(stored);
    // A key that was taken over from another instance may have messages of that instance.
    if (entry === undefined ? !this.#shared || !this.#terms.has(stored) : entry.removed) return undefined;
    const follows = options.causes === undefined && entry !== undefined ? following(entry.headers) : {};
    const cause = this.#set(stored, NOTHING, true, { ...follows, ...options });
    this.#recompleteSoon();
    return cause;
  }

  /**
   * This instance owns `key` from now on, one of several instances of its service between which keys move. The assigner of the keys
   * uses a greater term each time: values published under it take precedence over all earlier ones, even if an instance that
   * owned the key continues to publish. Values published under a smaller term are published again under this one.
   */
  claim(key: string, term: number): void {
    const stored = factKey(this.#declaration, key);
    if ((this.#terms.get(stored) ?? 0) >= term) return;
    this.#terms.set(stored, term);
    this.#released.delete(stored);
    const entry = this.#entries.get(stored);
    if (entry !== undefined) this.#set(stored, entry.payload, entry.removed, following(entry.headers));
  }

  /**
   * This instance no longer owns `key`: its value stays until the next owner publishes one. After {@link remove} the key is
   * only forgotten.
   */
  release(key: string): void {
    const stored = factKey(this.#declaration, key);
    this.#terms.delete(stored);
    const entry = this.#entries.get(stored);
    if (entry === undefined || entry.removed) return;
    this.#entries.delete(stored);
    this.#released.add(stored);
    this.#recompleteSoon();
  }

  /**
   * There are other instances of this service. The store keeps the last written value, by any instance, so from now on
   * this instance checks that no earlier owner of a key overwrites its value.
   */
  share(): void {
    if (this.#shared) return;
    this.#shared = true;
    if (this.#transport.connected) this.#sweepOlder();
  }

  has(key: string): boolean {
    return this.#entries.get(factKey(this.#declaration, key))?.removed === false;
  }

  /** From now on the set is complete: readers may act on missing keys. Can be called repeatedly. */
  complete(): void {
    if (this.#complete) return;
    this.#complete = true;
    if (!this.#transport.connected) return;
    this.#publishComplete();
    this.#sweepOlder();
  }

  /**
   * A stored removal need not be kept: the store keeps the mark, and an empty store has nothing to remove. Only when the mark of an
   * instance that owned the key earlier replaces it, it has to be stored again: readers disregard that one, which is older than the value.
   */
  #onRemovalStored(key: string): void {
    if (!this.#shared) {
      this.#entries.delete(key);
      return;
    }
    this.#forget ??= this.#clock.after(REMEMBER_MS, () => {
      this.#forget = undefined;
      for (const { key: one, removed, stored } of this.#entries.values())
        if (removed && stored) this.#entries.delete(one);
    });
  }

  #recompleteSoon(): void {
    this.#recomplete ??= this.#clock.after(RECOMPLETE_MS, () => {
      this.#recomplete = undefined;
      if (this.#complete && this.#transport.connected) this.#publishComplete();
    });
  }

  #set(key: string, payload: Payload, removed: boolean, options: FactPutOptions): Cause {
    const { headers, cause } = this.#publisher.stamp(this.#declaration, options);
    headers[HEADER.version] = String(++this.#version);
    const term = this.#terms.get(key);
    if (term !== undefined) headers[HEADER.term] = String(term);
    if (removed) headers[HEADER.removed] = 'true';
    const entry: Entry = { key, payload, headers, removed, stored: false };
    this.#entries.set(entry.key, entry);
    if (this.#transport.connected) this.#store(entry);
    return cause;
  }

  #store(entry: Entry): void {
    if (this.#failed.has(entry.key)) this.#failed.set(entry.key, entry);
    this.#transport.storeFact(entry.key, withPayload({ headers: entry.headers }, entry.payload)).then(
      () => {
        entry.stored = true;
        this.#tooLarge.delete(entry.key);
        if (entry.removed && this.#entries.get(entry.key) === entry) this.#onRemovalStored(entry.key);
        if (this.#failed.delete(entry.key) && this.#failed.size === 0) this.#endRetries();
      },
      (error: unknown) => this.#notStored(entry, toError(error)),
    );
  }

  /** One line a round of retries, however many entries fail; none for a key whose value stays too large, which no retry changes. */
  #notStored(entry: Entry, err: Error): void {
    if (!this.#transport.connected) return;
    const { key } = entry;
    if (err instanceof MessageTooLarge) {
      if (!this.#tooLarge.has(key))
        this.#logger.error({ key, err }, 'a fact is too large for the bus: it is not stored');
      this.#tooLarge.add(key);
      return;
    }
    if (key !== this.#markKey && this.#entries.get(key) !== entry) return;
    this.#failed.set(key, entry);
    if (this.#retry !== undefined) return;
    this.#logger.warn({ key, waitMs: this.#retryMs, err }, 'facts could not be stored; trying again');
    this.#retry = this.#clock.after(this.#retryMs, () => {
      this.#retry = undefined;
      for (const one of [...this.#failed.values()]) this.#store(one);
    });
    this.#retryMs = Math.min(2 * this.#retryMs, RETRY_AT_MOST_MS);
  }

  #endRetries(): void {
    this.#retry?.();
    this.#retry = undefined;
    this.#retryMs = RETRY_MS;
    this.#failed.clear();
  }

  #republish(): void {
    for (const entry of this.#entries.values()) this.#store(entry);
    if (this.#complete) this.#publishComplete();
    if (this.#complete || this.#shared) this.#sweepOlder();
  }

  #publishComplete(): void {
    const keys = [...this.#entries.values()].filter((entry) => !entry.removed).map((entry) => entry.key);
    const { headers } = this.#publisher.stamp(
      `${this.#declaration.area}.fact.${this.#declaration.name}.complete/1`,
      {},
    );
    headers[HEADER.version] = String(++this.#version);
    const mark: Entry = {
      key: this.#markKey,
      payload: payloadOf(this.#transport, { keys }),
      headers,
      removed: false,
      stored: false,
    };
    this.#store(mark);
  }

  /**
   * For a while after each connection, or as long as there are other instances, compares the store with this owner's
   * entries: removes what earlier epochs left, and repairs values that were overwritten by older ones, from a message of the lost
   * connection that was still in flight, or from an instance that no longer owns the key.
   */
  #sweepOlder(): void {
    this.#sweep?.();
    const endWatch = this.#transport.watchFacts(factPattern(this.#declaration), {
      message: ({ subject, headers }) => {
        const key = subject.slice(subject.indexOf('.', subject.indexOf('.') + 1) + 1);
        const held = this.#entries.get(key);
        if (held !== undefined) {
          if (held.stored && compareRanks(rankOf(headers), rankOf(held.headers)) < 0) this.#store(held);
          return;
        }
        if (headers[HEADER.source] !== this.#publisherId.instance) {
          this.#released.delete(key);
          return;
        }
        const settled = key === this.#markKey || !this.#complete || this.#released.has(key);
        if (settled || headers[HEADER.removed] !== undefined) return;
        const claimed = this.#terms.has(key);
        if (!claimed) this.#terms.set(key, rankOf(headers).term);
        this.#set(key, NOTHING, true, following(headers));
        if (!claimed) this.#terms.delete(key);
      },
      present: () => undefined,
    });
    const endTimer = this.#shared ? undefined : this.#clock.after(SWEEP_MS, () => this.#sweep?.());
    this.#sweep = () => {
      endWatch();
      endTimer?.();
      this.#sweep = undefined;
    };
  }
}

/** Options of a message that follows an earlier one of its key: it is about the same pod, and caused by that message. */
function following(headers: Readonly<Record<string, string>>): FactPutOptions {
  try {
    const { pod, cause } = decodeEnvelope(headers);
    return { pod, causes: [cause] };
  } catch {
    // A message without a valid envelope may be in the store anyway, and has to be removed.
    return { pod: headers[HEADER.pod] };
  }
}
