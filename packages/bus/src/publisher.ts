import { type AnyDeclaration, typeOf } from '@kubus/contracts';
import type { Clock, Ids } from '@kubus/ports';
import { type Cause, type Envelope, encodeEnvelope, formatTime, messageId } from './envelope.ts';

/** Who speaks on the bus. */
export interface Speaker {
  /** `pod-workers-0`. */
  readonly instance: string;
  /** Grows with every start of the instance. */
  readonly epoch: number;
  readonly node: string;
}

/** Stamps outgoing messages: running number, time, causes and trace context. One per process and bus. */
export class Publisher {
  readonly #speaker: Speaker;
  readonly #clock: Clock;
  readonly #ids: Ids;
  readonly #spanPrefix: string;
  #seq = 0;

  constructor(options: { speaker: Speaker; clock: Clock; ids: Ids }) {
    this.#speaker = options.speaker;
    this.#clock = options.clock;
    this.#ids = options.ids;
    // A prefix per start and a counter are as unique as 8 random bytes, and need randomness only once.
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
    const causes = lastHeardFirst(options.causes ?? []);
    const now = this.#clock.now();
    const cause: Cause = {
      id: messageId(this.#speaker.instance, this.#speaker.epoch, seq),
      traceId: causes[0]?.traceId ?? this.#ids.hex(16),
      spanId: this.#spanPrefix + (seq >>> 0).toString(16).padStart(8, '0'),
    };
    const envelope: Envelope = {
      type: typeof type === 'string' ? type : typeOf(type),
      source: this.#speaker.instance,
      epoch: this.#speaker.epoch,
      seq,
      time: formatTime(now),
      node: this.#speaker.node,
      pod: options.pod,
      causes: [...new Set(causes.map((one) => one.id))],
      ...timesOf(causes[0], now),
      cause,
    };
    return { headers: encodeEnvelope(envelope), cause };
  }
}

/**
 * Causes in the order in which they had been waited for, the last one first: by when they were heard. One of the publisher's
 * own has not been heard and stays where it was put.
 */
function lastHeardFirst(causes: readonly Cause[]): readonly Cause[] {
  if (causes.length < 2) return causes;
  const heard = causes.filter((cause) => cause.heard !== undefined);
  heard.sort((a, b) => (b.heard ?? 0) - (a.heard ?? 0));
  return causes.map((cause) => (cause.heard === undefined ? cause : (heard.shift() ?? cause)));
}

/** When the first cause was heard and begun. A clock that was set back makes no message that readers refuse. */
function timesOf(cause: Cause | undefined, now: number): Pick<Envelope, 'heard' | 'began'> {
  const { heard, began } = cause ?? {};
  if (heard === undefined) return { heard: undefined, began: undefined };
  const isBegun = began !== undefined && heard <= began && began <= now;
  return { heard: formatTime(heard), began: isBegun ? formatTime(began) : undefined };
}
