import { HEADER } from '@kubus/bus';
import { instanceJournal, typeOf } from '@kubus/contracts';
import type { RecordingReader } from '@kubus/recording';
import { type RecordedLife, type Recording, type StoredMessage, journalPartOf } from './recording.ts';

interface FileLife {
  readonly instance: string;
  readonly epoch: number;
  /** Sequence number of its first message. */
  first: number;
  published: number;
  /** Sequence numbers of the journal's parts. */
  readonly seqs: Map<number, number>;
}

/**
 * A recording in a file. Messages are read when they are needed; only the positions of the journals' parts are in memory.
 */
export class FileRecording implements Recording {
  readonly lives: readonly RecordedLife[];
  readonly #reader: RecordingReader;
  readonly #until: number;

  /** @param until ignore messages with a greater sequence number */
  constructor(reader: RecordingReader, until = Number.MAX_SAFE_INTEGER) {
    this.#reader = reader;
    this.#until = until;
    const lives = new Map<string, FileLife>();
    const lifeOf = (instance: string, epoch: number, first: number): FileLife => {
      const key = `${instance}.${epoch}`;
      const life = lives.get(key) ?? { instance, epoch, first, published: 0, seqs: new Map<number, number>() };
      life.first = Math.min(life.first, first);
      lives.set(key, life);
      return life;
    };
    for (const { seq, message } of reader.all({ type: typeOf(instanceJournal) })) {
      if (seq > until) break;
      const { instance, part } = journalPartOf(message);
      lifeOf(instance, Number(message.headers[HEADER.epoch]), seq).seqs.set(part, seq);
    }
    const journaled = new Set([...lives.values()].map(({ instance }) => instance));
    for (const { source, epoch, first, published } of reader.publishers(until)) {
      if (journaled.has(source)) lifeOf(source, epoch, first).published = published;
    }
    this.lives = [...lives.values()]
      .sort((one, other) => one.first - other.first)
      .map(({ instance, epoch, published, seqs }) => ({
        ...{ instance, epoch, published, parts: seqs.size },
        part: (number) => this.#part(seqs.get(number)),
      }));
  }

  find(id: string): StoredMessage | undefined {
    const stored = this.#reader.messageById(id);
    return stored === undefined || stored.seq > this.#until ? undefined : stored;
  }

  #part(seq: number | undefined): unknown {
    const stored = seq === undefined ? undefined : this.#reader.message(seq);
    return stored && journalPartOf(stored.message).items;
  }
}
