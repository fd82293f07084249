import { type FactDeclaration, completeKey, factKey, factPattern } from '@kubus/contracts';
import { type Cancel, type Clock, type Logger, toError } from '@kubus/ports';
import { type Cause, HEADER, decodeEnvelope } from './envelope.ts';
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
  #version = 0;
  #complete = false;
  #retry: Cancel | undefined;
  #sweep: Cancel | undefined;
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
      if (connected) this.#republish();
    });
  }

  /** Replaces the value under `key`. Returns what later messages name as their cause. */
  put(key: string, value: T, options: FactPutOptions = {}): Cause {
    return this.#set(factKey(this.#declaration, key), JSON.stringify(value), false, options);
  }

  /** Takes `key` out; readers learn it, also those that come later. Harmless when it is not there. */
  remove(key: string, options: FactPutOptions = {}): void {
    const entry = this.#entries.get(factKey(this.#declaration, key));
    if (entry === undefined || entry.removed) return;
    this.#set(entry.key, '', true, options);
    this.#recomplete ??= this.#clock.after(RECOMPLETE_MS, () => {
      this.#recomplete = undefined;
      if (this.#complete && this.#transport.connected) this.#publishComplete();
    });
  }

  has(key: string): boolean {
    return this.#entries.get(factKey(this.#declaration, key))?.removed === false;
  }

  /** From now on the set is whole: readers may act on what is missing from it. Call it once, after the first full set. */
  complete(): void {
    if (this.#complete) return;
    this.#complete = true;
    if (!this.#transport.connected) return;
    this.#publishComplete();
    this.#sweepOlder();
  }

  #set(key: string, data: string, removed: boolean, options: FactPutOptions): Cause {
    const { headers, cause } = this.#publisher.stamp(this.#declaration, options);
    headers[HEADER.version] = String(++this.#version);
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
    if (!this.#complete) return;
    this.#publishComplete();
    this.#sweepOlder();
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
   * For a while after each connection, compares the store with what this owner holds: takes out what earlier lives left,
   * and repairs a value that a message of the lost connection, still under way, has put over a newer one.
   */
  #sweepOlder(): void {
    this.#sweep?.();
    const markKey = completeKey(this.#declaration, this.#speaker.instance);
    const endWatch = this.#transport.watchFacts(factPattern(this.#declaration), {
      message: ({ subject, headers }) => {
        const key = subject.slice(subject.indexOf('.', subject.indexOf('.') + 1) + 1);
        const envelope = decodeEnvelope(headers);
        if (envelope.source !== this.#speaker.instance || key === markKey) return;
        const held = this.#entries.get(key);
        if (held !== undefined) {
          const older = envelope.epoch < this.#speaker.epoch || Number(headers[HEADER.version]) < versionOf(held);
          if (older && held.stored) this.#store(held);
        } else if (headers[HEADER.removed] === undefined) {
          this.#set(key, '', true, { pod: envelope.pod });
        }
      },
      present: () => undefined,
    });
    const endTimer = this.#clock.after(SWEEP_MS, () => this.#sweep?.());
    this.#sweep = () => {
      endWatch();
      endTimer();
      this.#sweep = undefined;
    };
  }
}

function versionOf(entry: Entry): number {
  return Number(entry.headers[HEADER.version]);
}
