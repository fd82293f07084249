import { type Envelope, type WireMessage, decodeEnvelope } from '@kubus/bus';
import { instanceJournal, typeOf } from '@kubus/contracts';

/** A message as a recording has it. */
export interface StoredMessage {
  /** The broker's sequence: the order in which the messages were stored. */
  readonly seq: number;
  readonly message: WireMessage;
}

/** One life of an instance, as far as a recording tells of it. */
export interface RecordedLife {
  readonly instance: string;
  readonly epoch: number;
  /** How many different messages it published. */
  readonly published: number;
  /** How many parts of its journal there are. */
  readonly parts: number;
  /** The entries of a part; undefined for one that is not there. The same part may have come twice. */
  readonly part: (number: number) => unknown;
}

/** What a replay needs of a recording. */
export interface Recording {
  /** Lives of instances that kept a journal, in the order in which they began to speak. */
  readonly lives: readonly RecordedLife[];
  /** The first message of this id. */
  readonly find: (id: string) => StoredMessage | undefined;
}

/** A part of a journal, if the message is one. */
interface JournalPart {
  readonly instance: string;
  readonly part: number;
  readonly items: unknown;
}

export function journalPartOf({ subject, data }: WireMessage): JournalPart {
  const { part, items } = instanceJournal.payload.parse(JSON.parse(data));
  return { instance: subject.slice(subject.lastIndexOf('.') + 1), part, items };
}

/** A recording that is all in memory: messages that come one after another, and can not be looked for. */
export class MemoryRecording implements Recording {
  readonly #messages = new Map<string, StoredMessage>();
  readonly #lives = new Map<string, MemoryLife>();
  readonly #journaled = new Set<string>();

  /** @param until the last sequence that counts. */
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
  /** The running numbers of the messages that it published. */
  readonly numbers = new Set<number>();
  /** As text, which is smaller. */
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
