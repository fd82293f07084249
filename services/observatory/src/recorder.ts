import type { StoredMessage } from '@kubus/bus';
import type { RecordState } from '@kubus/bus-nats';
import { type Clock, type Logger, toError } from '@kubus/ports';
import { type BrokerLife, type RecordingWriter, isDiskFull } from '@kubus/recording';

/**
 * How many messages are requested again after a lost connection, to check that the broker still has the same record.
 */
const LOOK_BACK = 200;
/** How often the oldest messages are dropped, in milliseconds. */
const DROP_EVERY_MS = 10_000;

export interface RecorderLimits {
  readonly liveBytes: number;
  readonly liveMs: number;
  readonly recordingBytes: number;
}

export interface RecorderOptions {
  readonly live: RecordingWriter;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly limits: RecorderLimits;
  /** Called before messages are written; what it throws is as if they could not be. */
  readonly prepare: () => void;
  /** Called with what has been written. */
  readonly onMessages: (messages: readonly StoredMessage[]) => void;
  /** Called when a recording has ended by itself. */
  readonly onFull: (name: string) => void;
}

/**
 * Writes the messages of the broker's record into the live recording and into those that users started. Sequence
 * numbers of a recording only grow: when the broker returns with another record, or with the end of its record lost,
 * its sequence numbers are counted on from there. What it had beyond the last message that was received is unknown:
 * one message counts as dropped.
 */
export class Recorder {
  readonly #options: RecorderOptions;
  readonly #named = new Map<string, RecordingWriter>();
  #life: BrokerLife | undefined;
  /** The start of the broker's new record has not been written yet. */
  #newLife = false;
  #droppedAt = 0;
  #problem: string | undefined;

  constructor(options: RecorderOptions) {
    this.#options = options;
    [this.#life] = options.live.lives();
  }

  get recording(): readonly string[] {
    return [...this.#named.keys()];
  }

  /** Why nothing is recorded now; undefined: it is. */
  get problem(): string | undefined {
    return this.#problem;
  }

  /** The broker is connected: returns the sequence number from which its messages are needed. */
  begin({ created, first, last }: RecordState): number {
    const { live } = this.#options;
    this.#newLife = false;
    [this.#life] = live.lives();
    const known = this.#life;
    const newest = live.last;
    if (known === undefined || newest === undefined) {
      const from = Math.max(1, first);
      this.#begin({ first: from, broker: from, created });
      return from;
    }
    if (known.created !== created) {
      // Sequence 1 of the new record comes after the number that stands for the unknown messages.
      this.#begin({ first: newest + 2, broker: 1, created });
      return Math.max(1, first);
    }
    const had = newest - known.first + known.broker;
    if (last < had) {
      this.#begin({ first: newest + 2, broker: last + 1, created });
      return last + 1;
    }
    return Math.max(first, known.broker, had - LOOK_BACK);
  }

  /** Throws, having written nothing to the live recording, when the disk is full: what was taken is then to be taken again. */
  take(messages: readonly StoredMessage[]): void {
    try {
      this.#options.prepare();
      this.#take(messages);
      this.#say(undefined);
    } catch (error) {
      if (isDiskFull(error)) this.#say('the disk takes no more: nothing is recorded until there is room on it');
      throw error;
    }
  }

  #take(messages: readonly StoredMessage[]): void {
    const batch: StoredMessage[] = [];
    for (const { seq, stored, message } of messages) {
      const place = this.#place(seq, stored, message.subject, batch.length > 0);
      if (place !== undefined) batch.push({ seq: place, stored, message });
    }
    if (batch.length > 0) this.#write(batch);
    this.#drop();
  }

  /** From this call on every message is also written into this recording. */
  add(name: string, writer: RecordingWriter): void {
    if (this.#life !== undefined) writer.append([], this.#life);
    this.#named.set(name, writer);
  }

  /** Ends a recording that a user started; returns undefined when none has that name. */
  finish(name: string): RecordingWriter | undefined {
    const writer = this.#named.get(name);
    // It goes on when that cannot be written.
    writer?.finish(this.#options.clock.now());
    this.#named.delete(name);
    return writer;
  }

  /** Writes no more into a recording that is about to be removed: that needs no room. */
  abandon(name: string): void {
    this.#named.get(name)?.close();
    this.#named.delete(name);
  }

  /** Leaves all recordings as they are, for the next start of the service. */
  close(): void {
    for (const writer of [...this.#named.values(), this.#options.live]) writer.close();
    this.#named.clear();
  }

  #begin(life: BrokerLife): void {
    this.#life = life;
    this.#newLife = true;
  }

  /** The position of the message in the recordings; undefined when they already contain it. */
  #place(seq: number, stored: number, subject: string, isNew: boolean): number | undefined {
    const { live } = this.#options;
    const { first, broker, created } = this.#life ?? { first: seq, broker: seq, created: '' };
    const place = seq - broker + first;
    if (isNew || place > (live.last ?? -1)) return place;
    const had = live.find(place);
    if (had === undefined || (had.stored === stored && had.subject === subject)) return undefined;
    // The broker now has another message under a known sequence number: it has lost the end of its record.
    const next = (live.last ?? 0) + 2;
    this.#begin({ first: next, broker: seq, created });
    return next;
  }

  #write(batch: readonly StoredMessage[]): void {
    const { live, logger, limits, onMessages } = this.#options;
    const life = this.#newLife ? this.#life : undefined;
    // The live recording comes last: it decides where to continue, and the others skip what they have.
    for (const [name, writer] of this.#named) {
      try {
        writer.append(batch, life);
        if (writer.bytes > limits.recordingBytes) this.#end(name, 'it has reached its size limit');
      } catch (error) {
        // It has a hole otherwise: it is written again together with the live one.
        if (isDiskFull(error)) throw error;
        this.#end(name, 'it cannot be written', error);
      }
    }
    live.append(batch, life);
    if (life !== undefined) logger.info({ ...life }, 'the broker has a new record');
    this.#newLife = false;
    onMessages(batch);
  }

  #end(name: string, why: string, cause?: unknown): void {
    const { logger, onFull, clock } = this.#options;
    logger.error({ recording: name, ...(cause !== undefined && { err: toError(cause) }) }, `recording ended: ${why}`);
    const writer = this.#named.get(name);
    this.#named.delete(name);
    try {
      writer?.finish(clock.now());
    } catch (error) {
      logger.error({ recording: name, err: toError(error) }, 'the end of a recording cannot be written');
    }
    onFull(name);
  }

  /** A change is logged once. */
  #say(problem: string | undefined): void {
    const { logger } = this.#options;
    if (problem === this.#problem) return;
    if (problem === undefined) logger.info({}, 'the disk takes what is recorded again');
    else logger.error({}, problem);
    this.#problem = problem;
  }

  #drop(): void {
    const { live, clock, limits } = this.#options;
    const now = clock.now();
    if (now - this.#droppedAt < DROP_EVERY_MS) return;
    const dropped = live.dropOldest({ before: now - limits.liveMs, maxBytes: limits.liveBytes });
    // The rest of it is removed when more has been received.
    if (dropped === 0) this.#droppedAt = now;
  }
}
