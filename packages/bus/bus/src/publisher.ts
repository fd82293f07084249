import { type AnyDeclaration, typeOf } from '@kubus/contracts';
import type { Clock, Ids } from '@kubus/ports';
import { type Cause, type Envelope, encodeEnvelope, formatTime, messageId } from './envelope.ts';

/** Identifies the publisher of messages. */
export interface PublisherId {
  /** `pod-workers-0`. */
  readonly instance: string;
  /** Increases with every start of the instance. */
  readonly epoch: number;
  readonly node: string;
}

/**
 * Largest number of causes in one message: a message that depended on thousands, such as the files of a folder, names those that it
 * awaited last. NATS limits the headers of a message to 64 KiB.
 */
export const MAX_CAUSES = 64;

/** Adds to outgoing messages: sequence number, time, causes and trace context. One per process and bus. */
export class Publisher {
  readonly #publisherId: PublisherId;
  readonly #clock: Clock;
  readonly #ids: Ids;
  readonly #spanPrefix: string;
  #seq = 0;

  constructor(options: { publisherId: PublisherId; clock: Clock; ids: Ids }) {
    this.#publisherId = options.publisherId;
    this.#clock = options.clock;
    this.#ids = options.ids;
    // A prefix per start and a counter are as unique as 8 random bytes, and require randomness only once.
    this.#spanPrefix = options.ids.hex(4);
  }

  /** Messages stamped so far. */
  get count(): number {
    return this.#seq;
  }

  /** Headers for the next message, and its identity for messages that it will cause. */
  stamp(
    type: string | AnyDeclaration,
    options: { pod?: string | undefined; causes?: readonly Cause[] | undefined },
  ): { headers: Record<string, string>; cause: Cause } {
    const seq = ++this.#seq;
    const causes = lastReceivedFirst(options.causes ?? []);
    const now = this.#clock.now();
    const cause: Cause = {
      id: messageId(this.#publisherId.instance, this.#publisherId.epoch, seq),
      traceId: causes[0]?.traceId ?? this.#ids.hex(16),
      spanId: this.#spanPrefix + (seq >>> 0).toString(16).padStart(8, '0'),
    };
    const envelope: Envelope = {
      type: typeof type === 'string' ? type : typeOf(type),
      source: this.#publisherId.instance,
      epoch: this.#publisherId.epoch,
      seq,
      time: formatTime(now),
      node: this.#publisherId.node,
      pod: options.pod,
      causes: [...new Set(causes.map((one) => one.id))].slice(0, MAX_CAUSES),
      ...timesOf(causes[0], now),
      cause,
    };
    return { headers: encodeEnvelope(envelope), cause };
  }
}

/**
 * Causes in the order in which they were awaited, the last one first: by the time when they were received. The publisher's own
 * messages have not been received and keep their position.
 */
function lastReceivedFirst(causes: readonly Cause[]): readonly Cause[] {
  if (causes.length < 2) return causes;
  const received = causes.filter((cause) => cause.received !== undefined);
  received.sort((a, b) => (b.received ?? 0) - (a.received ?? 0));
  return causes.map((cause) => (cause.received === undefined ? cause : (received.shift() ?? cause)));
}

/** When the first cause was received and work on it began. A clock that was set back must not cause readers to refuse the message. */
function timesOf(cause: Cause | undefined, now: number): Pick<Envelope, 'received' | 'began'> {
  const { received, began } = cause ?? {};
  if (received === undefined) return { received: undefined, began: undefined };
  const isBegun = began !== undefined && received <= began && began <= now;
  return { received: formatTime(received), began: isBegun ? formatTime(began) : undefined };
}
