import { type FactDeclaration, completeKey, factKey, factPattern } from '@kubus/contracts';
import { type Cancel, type Clock, type Logger, toError } from '@kubus/ports';
import { type Cause, HEADER, decodeEnvelope } from './envelope.ts';
import { compareRanks, rankOf } from './fact-rank.ts';
import type { Publisher, Speaker } from './publisher.ts';
import type { Transport } from './transport.ts';

/** How long to wait before a fact that could not be stored is stored again while the connection stands. */
const RETRY_MS = 1_000;

/**
 * How long after a removal the completion mark is published anew without the removed key. A reader that starts later
 * waits for every key of the mark, so a removed key must have left it before its removal mark is purged from the store.
 */
const RECOMPLETE_MS = 60_000;

/** How long after a connection the store is compared with what the owner holds. */
const SWEEP_MS = 30_000;

interface Entry {
  readonly key: string;
  readonly data: string;
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
 * The writing side of one fact (DESIGN rules 1 to 3). It holds every present value itself: the fact store is a copy for
 * readers. On each connection it publishes everything again and ends with the mark that the set is complete, so that a
 * store that came back empty fills again and keys of earlier lives of this instance are taken out.
 */
export class FactOwner<T> {
  readonly #declaration: FactDeclaration<T>;
  readonly #speaker: Speaker;
  readonly #publisher: Publisher;
  readonly #transport: Transport;
  readonly #clock: Clock;
  readonly #logger: Logger;
  readonly #entries = new Map<string, Entry>();
  /** By the store's key: the term under which this instance has it. */
  readonly #terms = new Map<string, number>();
  /** Keys that were given up, as long as nobody else has been heard to have them. */
  readonly #released = new Set<string>();
  #version = 0;
  #complete = false;
  #retry: Cancel | undefined;
  #sweep: Cancel | undefined;
  #shared = false;
  #recomplete: Cancel | undefined;

  constructor(options: {
    declaration: FactDeclaration<T>;
    speaker: Speaker;
    publisher: Publisher;
    transport: Transport;
    clock: Clock;
    logger: Logger;
  }) {
    this.#declaration = options.declaration;
    this.#speaker = options.speaker;
    this.#publisher = options.publisher;
    this.#transport = options.transport;
    this.#clock = options.clock;
    this.#logger = options.logger;
    options.transport.onConnection((connected) => {
      this.#sweep?.();
      // The next connection begins with a whole set and its mark.
      this.#recomplete?.();
      this.#recomplete = undefined;
      if (connected) this.#republish();
    });
  }

  /** Replaces the value under `key`. Returns what later messages name as their cause. */
  put(key: string, value: T, options: FactPutOptions = {}): Cause {
    return this.#set(factKey(this.#declaration, key), JSON.stringify(value), false, options);
  }

  /**
   * Takes `key` out; readers learn it, also those that come later. Harmless when it is not there. Without causes it follows
   * what was said last.
   */
  remove(key: string, options: FactPutOptions = {}): void {
    const stored = factKey(this.#declaration, key);
    const entry = this.#entries.get(stored);
    // Of a key that came from another instance, that one may have said something.
    if (entry === undefined ? !this.#shared || !this.#terms.has(stored) : entry.removed) return;
    const follows = options.causes === undefined && entry !== undefined ? following(entry.headers) : {};
    this.#set(stored, '', true, { ...follows, ...options });
    this.#recompleteSoon();
  }

  /**
   * This instance has `key` from now on, of several instances of its service among which keys move. Whoever gives keys away
   * gives each time a greater term: what is said under it counts more than everything before, also when an instance that
   * had the key goes on speaking. What has been said under a smaller term is said again under this one.
   */
  claim(key: string, term: number): void {
    const stored = factKey(this.#declaration, key);
    if ((this.#terms.get(stored) ?? 0) >= term) return;
    this.#terms.set(stored, term);
    this.#released.delete(stored);
    const entry = this.#entries.get(stored);
    if (entry !== undefined) this.#set(stored, entry.data, entry.removed, following(entry.headers));
  }

  /**
   * This instance has `key` no more: what it said stays until the next one speaks. After {@link remove} the key is just
   * forgotten.
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
   * There are other instances of this service. The store keeps what was written last, whoever wrote it, so from now on
   * this one watches that nobody who had a key before it writes over what it says.
   */
  share(): void {
    if (this.#shared) return;
    this.#shared = true;
    if (this.#transport.connected) this.#sweepOlder();
  }

  has(key: string): boolean {
    return this.#entries.get(factKey(this.#declaration, key))?.removed === false;
  }

  /** From now on the set is whole: readers may act on what is missing from it. Harmless to repeat. */
  complete(): void {
    if (this.#complete) return;
    this.#complete = true;
    if (!this.#transport.connected) return;
    this.#publishComplete();
    this.#sweepOlder();
  }

  #recompleteSoon(): void {
    this.#recomplete ??= this.#clock.after(RECOMPLETE_MS, () => {
      this.#recomplete = undefined;
      if (this.#complete && this.#transport.connected) this.#publishComplete();
    });
  }

  #set(key: string, data: string, removed: boolean, options: FactPutOptions): Cause {
    const { headers, cause } = this.#publisher.stamp(this.#declaration, options);
    headers[HEADER.version] = String(++this.#version);
    const term = this.#terms.get(key);
    if (term !== undefined) headers[HEADER.term] = String(term);
    if (removed) headers[HEADER.removed] = 'true';
    const entry: Entry = { key, data, headers, removed, stored: false };
    this.#entries.set(entry.key, entry);
    if (this.#transport.connected) this.#store(entry);
    return cause;
  }

  #store(entry: Entry): void {
    this.#transport.storeFact(entry.key, entry.data, entry.headers).then(
      () => {
        entry.stored = true;
        // A stored removal needs no memory: the store keeps the mark, and an empty store has nothing to remove.
        if (entry.removed && this.#entries.get(entry.key) === entry) this.#entries.delete(entry.key);
      },
      (error: unknown) => {
        if (!this.#transport.connected) return;
        this.#logger.warn({ key: entry.key, err: toError(error) }, 'a fact could not be stored, trying again');
        this.#retry ??= this.#clock.after(RETRY_MS, () => {
          this.#retry = undefined;
          if (!this.#transport.connected) return;
          for (const one of this.#entries.values()) if (!one.stored) this.#store(one);
        });
      },
    );
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
      key: completeKey(this.#declaration, this.#speaker.instance),
      data: JSON.stringify({ keys }),
      headers,
      removed: false,
      stored: false,
    };
    this.#store(mark);
  }

  /**
   * For a while after each connection, or as long as there are other instances, compares the store with what this owner
   * holds: takes out what earlier lives left, and repairs a value over which an older one was put, by a message of the lost
   * connection that was still under way or by an instance that does not have the key any more.
   */
  #sweepOlder(): void {
    this.#sweep?.();
    const markKey = completeKey(this.#declaration, this.#speaker.instance);
    const endWatch = this.#transport.watchFacts(factPattern(this.#declaration), {
      message: ({ subject, headers }) => {
        const key = subject.slice(subject.indexOf('.', subject.indexOf('.') + 1) + 1);
        const held = this.#entries.get(key);
        if (held !== undefined) {
          if (held.stored && compareRanks(rankOf(headers), rankOf(held.headers)) < 0) this.#store(held);
          return;
        }
        if (headers[HEADER.source] !== this.#speaker.instance) {
          this.#released.delete(key);
          return;
        }
        const settled = key === markKey || !this.#complete || this.#released.has(key);
        if (settled || headers[HEADER.removed] !== undefined) return;
        const claimed = this.#terms.has(key);
        if (!claimed) this.#terms.set(key, rankOf(headers).term);
        this.#set(key, '', true, following(headers));
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

/** What is said of a key because of what was said of it before: about the same pod, and caused by that. */
function following(headers: Readonly<Record<string, string>>): FactPutOptions {
  try {
    const { pod, cause } = decodeEnvelope(headers);
    return { pod, causes: [cause] };
  } catch {
    // What does not say what it is may lie in the store all the same, and has to go.
    return { pod: headers[HEADER.pod] };
  }
}
