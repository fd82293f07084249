import { HEADER, decodeEnvelope } from '@kubus/bus';
import { COMPLETE, encodeToken } from '@kubus/contracts';
import { type Cancel, type Clock, type Ids, type Logger, toError } from '@kubus/ports';
import { jetstreamManager } from '@nats-io/jetstream';
import type { Msg, NatsConnection } from '@nats-io/nats-core';
import { loadStored } from './loader.ts';
import { bucketStream, inboxPrefix, isCompletion, storeSubject } from './names.ts';
import { streamsInstance } from './permissions.ts';
import { storedMessage } from './record.ts';

const REQUEST_MS = 5_000;
/** How often the store is looked at, in milliseconds. */
const LOOK_MS = 10_000;

/** The last message in the store under one subject. */
export interface StoredFact {
  readonly subject: string;
  /** The owning instance, with its epoch and its own counter. */
  readonly source: string;
  readonly epoch: number;
  readonly version: number;
  /** When it was published, milliseconds since the Unix epoch. */
  readonly time: number;
  /** Position in the stream. */
  readonly seq: number;
  readonly removed: boolean;
}

/**
 * The removal marks that are no longer needed: after each of them its owner has stored a completion mark,
 * which has the same meaning to later readers. A mark without a later completion mark is kept, however old it is: readers would wait
 * for its key.
 *
 * @param before milliseconds since the Unix epoch; newer marks are kept for readers that are loading right now
 */
export function voidMarks(stored: readonly StoredFact[], before: number): StoredFact[] {
  const latest = new Map(stored.map((fact) => [fact.subject, fact]));
  return stored.filter((mark) => {
    if (!mark.removed || mark.time >= before) return false;
    const prefix = mark.subject.slice(0, mark.subject.lastIndexOf('.'));
    const complete = latest.get(`${prefix}.${COMPLETE}.${encodeToken(mark.source)}`);
    if (complete === undefined) return false;
    return complete.epoch > mark.epoch || (complete.epoch === mark.epoch && complete.version > mark.version);
  });
}

/** What {@link RemovalMarks} needs. */
export interface RemovalMarksOptions {
  /** With the identity of the streams. */
  readonly connection: NatsConnection;
  readonly node: string;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly logger: Logger;
  /** How many facts and marks have to be stored until they are looked at. Default: 500, those of some 25 pods. */
  readonly growth?: number;
  /** How old marks have to be, in milliseconds: newer ones are kept for readers that are loading. Default: 10 s. */
  readonly ageMs?: number;
}

/**
 * Purges the removal marks that are no longer needed from the store (see {@link voidMarks}): otherwise it would grow with every pod that
 * has come and gone. It does so soon: a pod leaves eight, and while many come and go, what the server has in memory at a time is what
 * its heap stays spread over.
 */
export class RemovalMarks {
  readonly #options: RemovalMarksOptions;
  /** The removal marks and completion marks of the store as far as it has been read, by subject. */
  readonly #marks = new Map<string, StoredFact>();
  /** Position of the last message that was read. */
  #read = 0;
  /** When the stream was created: a restarted server has another one. */
  #stream: string | undefined;
  #next: Cancel | undefined;
  #stopped = false;

  constructor(options: RemovalMarksOptions) {
    this.#options = options;
    this.#lookLater();
  }

  /** Stops looking; a purge that has begun goes on. */
  stop(): void {
    this.#stopped = true;
    this.#next?.();
  }

  /** Purges when enough has been stored since the last look. Returns how many marks were purged; errors are logged. */
  async look(): Promise<number> {
    const { connection, node, clock, logger, growth = 500, ageMs = 10_000 } = this.#options;
    try {
      const manager = await jetstreamManager(connection, { checkAPI: false, timeout: REQUEST_MS });
      const { created, state } = await manager.streams.info(bucketStream(node));
      if (created !== this.#stream) this.#forget(created);
      if (state.last_seq - this.#read < growth) return 0;
      await this.#readOn();
      const purged = await this.#purge(clock.now() - ageMs);
      logger.debug({ count: state.messages, purged }, 'purged removal marks of facts');
      return purged;
    } catch (error) {
      logger.warn({ err: toError(error) }, 'cannot purge removal marks of facts; trying again later');
      return 0;
    }
  }

  #lookLater(): void {
    this.#next = this.#options.clock.after(LOOK_MS, () => {
      void this.look().then(() => {
        if (!this.#stopped) this.#lookLater();
      });
    });
  }

  #forget(stream: string): void {
    this.#stream = stream;
    this.#read = 0;
    this.#marks.clear();
  }

  /** Reads what has been stored since the last time. */
  async #readOn(): Promise<void> {
    const { connection, node, ids } = this.#options;
    const id = ids.hex(8);
    const { loaded } = loadStored({
      connection,
      api: '$JS.API',
      stream: bucketStream(node),
      filter: storeSubject(node, '>'),
      what: this.#read + 1,
      headersOnly: true,
      inbox: `${inboxPrefix(streamsInstance)}.marks.${id}`,
      name: `marks-${id}`,
      timeoutMs: REQUEST_MS,
      onMessage: (message) => this.#keep(storedFact(message)),
    });
    await loaded;
  }

  #keep(fact: StoredFact): void {
    this.#read = fact.seq;
    if (fact.removed || isCompletion(fact.subject)) this.#marks.set(fact.subject, fact);
    else this.#marks.delete(fact.subject);
  }

  /** @param before marks stored before this time are considered; milliseconds since the Unix epoch */
  async #purge(before: number): Promise<number> {
    const { connection, node } = this.#options;
    const marks = voidMarks([...this.#marks.values()], before);
    for (const { subject, seq } of marks) {
      // `seq` is the first one to keep: a value stored under the same key since then.
      const request = JSON.stringify({ filter: subject, seq: seq + 1 });
      await connection.request(`$JS.API.STREAM.PURGE.${bucketStream(node)}`, request, { timeout: REQUEST_MS });
      this.#marks.delete(subject);
    }
    return marks.length;
  }
}

function storedFact(wire: Msg): StoredFact {
  const { seq, message } = storedMessage(wire);
  const { subject, headers } = message;
  const { source, epoch, time } = decodeEnvelope(headers);
  return {
    subject,
    source,
    epoch,
    version: Number(headers[HEADER.version]),
    time: Date.parse(time),
    seq,
    removed: headers[HEADER.removed] !== undefined,
  };
}
