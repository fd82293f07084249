import { type Envelope, type WireMessage, decodeEnvelope } from '@kubus/bus';
import { instanceJournal, typeOf } from '@kubus/contracts';

/** A message in a recording. */
export interface StoredMessage {
  /** Sequence number in the stream: the order in which NATS stored the messages. */
  readonly seq: number;
  readonly message: WireMessage;
}

/** One life of an instance, as far as it is in a recording. */
export interface RecordedLife {
  readonly instance: string;
  readonly epoch: number;
  /** Number of different messages that it published. */
  readonly published: number;
  /** Number of parts of its journal. */
  readonly parts: number;
  /** The entries of a part; undefined for a missing one. */
  readonly part: (number: number) => unknown;
}

/** What a replay reads from a recording. */
export interface Recording {
  /** The lives that have a journal, in the order of their first messages. */
  readonly lives: readonly RecordedLife[];
  /** The first message with this id; undefined when there is none. */
  readonly find: (id: string) => StoredMessage | undefined;
}

/** A part of a journal, as a message contains it. */
interface JournalPart {
  readonly instance: string;
  readonly part: number;
  readonly items: unknown;
}

/** The part of a journal in a message. Throws a ZodError for any other message. */
export function journalPartOf({ subject, data }: WireMessage): JournalPart {
  const { part, items } = instanceJournal.payload.parse(JSON.parse(data));
  return { instance: subject.slice(subject.lastIndexOf('.') + 1), part, items };
}

/** A recording that is completely in memory, read from a stream of messages. */
export class MemoryRecording implements Recording {
  readonly #messages = new Map<string, StoredMessage>();
  readonly #lives = new Map<string, MemoryLife>();
  readonly #journaled = new Set<string>();

  /** @param until ignore messages with a greater sequence number */
  static async read(
    messages: AsyncIterable<StoredMessage> | Iterable<StoredMessage>,
    until = Infinity,
  ): Promise<MemoryRecording> {
    const recording = new MemoryRecording();
    for await (const stored of messages) if (stored.seq <= until) recording.#add(stored);
    return recording;
  }

  find(id: string): StoredMessage | undefined {
    return this.#messages.get(id);
  }

  get lives(): readonly RecordedLife[] {
    return [...this.#lives.values()].filter(({ instance }) => this.#journaled.has(instance));
  }

  #add(stored: StoredMessage): void {
    const { message } = stored;
    const envelope = readEnvelope(message);
    if (envelope === undefined) return;
    const { type, source, epoch, seq, cause } = envelope;
    if (type === typeOf(instanceJournal)) {
      const { instance, part, items } = journalPartOf(message);
      this.#journaled.add(instance);
      this.#life(instance, epoch).keep(part, items);
      return;
    }
    this.#life(source, epoch).numbers.add(seq);
    if (!this.#messages.has(cause.id)) this.#messages.set(cause.id, stored);
  }

  #life(instance: string, epoch: number): MemoryLife {
    const key = `${instance}.${epoch}`;
    const life = this.#lives.get(key) ?? new MemoryLife(instance, epoch);
    this.#lives.set(key, life);
    return life;
  }
}

class MemoryLife implements RecordedLife {
  readonly instance: string;
  readonly epoch: number;
  /** The sequence numbers of the messages that it published. */
  readonly numbers = new Set<number>();
  /** As text, which takes less memory. */
  readonly #parts = new Map<number, string>();

  constructor(instance: string, epoch: number) {
    this.instance = instance;
    this.epoch = epoch;
  }

  get published(): number {
    return this.numbers.size;
  }

  get parts(): number {
    return this.#parts.size;
  }

  keep(part: number, items: unknown): void {
    this.#parts.set(part, JSON.stringify(items));
  }

  part(number: number): unknown {
    const text = this.#parts.get(number);
    return text === undefined ? undefined : JSON.parse(text);
  }
}

function readEnvelope({ headers }: WireMessage): Envelope | undefined {
  try {
    return decodeEnvelope(headers);
  } catch {
    return undefined;
  }
}
