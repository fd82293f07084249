import { HEADER, decodeEnvelope } from '@kubus/bus';
import { COMPLETE, encodeToken } from '@kubus/contracts';
import { type Cancel, type Clock, type Ids, type Logger, toError } from '@kubus/ports';
import { jetstreamManager } from '@nats-io/jetstream';
import type { Msg, NatsConnection } from '@nats-io/nats-core';
import { loadStored } from './loader.ts';
import { bucketStream, inboxPrefix, storeSubject } from './names.ts';
import { streamsInstance } from './permissions.ts';
import { storedMessage } from './record.ts';

const REQUEST_MS = 5_000;
/** How often the number of stored facts is looked at, in milliseconds. */
const LOOK_MS = 60_000;

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
  /** By how many facts and marks the store has to grow until marks are purged, since that reads all of it. Default: 500, those of 60 pods. */
  readonly growth?: number;
  /** How old marks have to be, in milliseconds: newer ones are kept for readers that are loading. Default: 60 s. */
  readonly ageMs?: number;
}

/**
 * Purges the removal marks that are no longer needed from the store (see {@link voidMarks}): otherwise it would grow with every pod that
 * has come and gone.
 */
export class RemovalMarks {
  readonly #options: RemovalMarksOptions;
  /** The facts and marks that the last purge left. */
  #left = 0;
  #next: Cancel | undefined;

  constructor(options: RemovalMarksOptions) {
    this.#options = options;
    this.#lookLater();
  }

  /** Stops looking; a purge that has begun goes on. */
  stop(): void {
    this.#next?.();
  }

  /** Purges when the store has grown enough since the last purge. Returns how many marks were purged; errors are logged. */
  async look(): Promise<number> {
    const { connection, node, clock, logger, growth = 500, ageMs = 60_000 } = this.#options;
    try {
      const manager = await jetstreamManager(connection, { checkAPI: false, timeout: REQUEST_MS });
      const { messages: count } = (await manager.streams.info(bucketStream(node))).state;
      // A restarted server has none.
      this.#left = Math.min(this.#left, count);
      if (count - this.#left < growth) return 0;
      const purged = await this.#purge(clock.now() - ageMs);
      this.#left = count - purged;
      logger.debug({ count, purged }, 'purged removal marks of facts');
      return purged;
    } catch (error) {
      logger.warn({ err: toError(error) }, 'cannot purge removal marks of facts; trying again later');
      return 0;
    }
  }

  #lookLater(): void {
    this.#next = this.#options.clock.after(LOOK_MS, () => {
      this.#lookLater();
      void this.look();
    });
  }

  /** @param before marks stored before this time are considered; milliseconds since the Unix epoch */
  async #purge(before: number): Promise<number> {
    const { connection, node, ids } = this.#options;
    const id = ids.hex(8);
    const stored: StoredFact[] = [];
    const { loaded } = loadStored({
      connection,
      api: '$JS.API',
      stream: bucketStream(node),
      filter: storeSubject(node, '>'),
      what: 'last',
      inbox: `${inboxPrefix(streamsInstance)}.marks.${id}`,
      name: `marks-${id}`,
      timeoutMs: REQUEST_MS,
      onMessage: (message) => void stored.push(storedFact(message)),
    });
    await loaded;
    const marks = voidMarks(stored, before);
    for (const { subject, seq } of marks) {
      // `seq` is the first one to keep: a value stored under the same key since then.
      const request = JSON.stringify({ filter: subject, seq: seq + 1 });
      await connection.request(`$JS.API.STREAM.PURGE.${bucketStream(node)}`, request, { timeout: REQUEST_MS });
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
