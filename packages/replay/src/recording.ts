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
  /** Its journal's parts by number, as text; the same part may have come twice. */
  readonly parts: Map<number, string>;
  /** The running numbers of the messages that it published. */
  readonly published: Set<number>;
}

/** What a replay needs of a recording: every message by its id, and the lives of the instances that kept a journal. */
export class Recording {
  readonly #messages = new Map<string, StoredMessage>();
  readonly #lives = new Map<string, RecordedLife>();
  readonly #journaled = new Set<string>();

  /** @param until the last sequence that counts. */
  static async read(
    messages: AsyncIterable<StoredMessage> | Iterable<StoredMessage>,
    until = Infinity,
  ): Promise<Recording> {
    const recording = new Recording();
    for await (const stored of messages) if (stored.seq <= until) recording.#add(stored);
    return recording;
  }

  /** The first message of this id. */
  find(id: string): StoredMessage | undefined {
    return this.#messages.get(id);
  }

  /** Lives of instances that kept a journal, in the order in which they began to speak. */
  get lives(): readonly RecordedLife[] {
    return [...this.#lives.values()].filter(({ instance }) => this.#journaled.has(instance));
  }

  #add(stored: StoredMessage): void {
    const { message } = stored;
    const envelope = readEnvelope(message);
    if (envelope === undefined) return;
    const { type, source, epoch, seq, cause } = envelope;
    if (type === typeOf(instanceJournal)) {
      const { part, items } = instanceJournal.payload.parse(JSON.parse(message.data));
      const instance = message.subject.slice(message.subject.lastIndexOf('.') + 1);
      this.#journaled.add(instance);
      this.#life(instance, epoch).parts.set(part, JSON.stringify(items));
      return;
    }
    this.#life(source, epoch).published.add(seq);
    if (!this.#messages.has(cause.id)) this.#messages.set(cause.id, stored);
  }

  #life(instance: string, epoch: number): RecordedLife {
    const key = `${instance}.${epoch}`;
    const life = this.#lives.get(key) ?? { instance, epoch, parts: new Map(), published: new Set() };
    this.#lives.set(key, life);
    return life;
  }
}

function readEnvelope({ headers }: WireMessage): Envelope | undefined {
  try {
    return decodeEnvelope(headers);
  } catch {
    return undefined;
  }
}
