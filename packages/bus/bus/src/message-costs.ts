import type { Cancel } from '@kubus/ports';
import { HEADER } from './envelope.ts';
import type { FactListener, FactMessage, Transport, WireMessage } from './transport.ts';

/** What a service did with a message: `sent` to the bus, `received` from it, `copied` to the broker for the record. */
export type MessageWay = 'sent' | 'received' | 'copied';

/** What the messages of one kind have cost. */
export interface MessageCost {
  /** Type without version, such as `sync.fact.pod`. */
  readonly type: string;
  readonly way: MessageWay;
  readonly count: number;
  /** CPU time of the event loop's thread, in microseconds. */
  readonly micros: number;
}

/** More kinds than the contract has; those of further ones are counted together. */
const KINDS = 1_000;

/**
 * The cost of messages by kind, where a person asks for it. Receiving a message includes its parsing, its validation, and what the handler
 * does at once; what it sends meanwhile counts as sent. Sending is handing a message on, and to the broker also making the text of one that
 * is delivered as a value. What happens before, later or in sockets is no part of it.
 */
export class MessageCosts {
  readonly #cpuMicros: () => number;
  readonly #costs = new Map<string, { type: string; way: MessageWay; count: number; micros: number }>();
  /** What the steps within the present one have taken. */
  #within = 0;

  /** @param cpuMicros CPU time of this thread until now, in microseconds */
  constructor(cpuMicros: () => number) {
    this.#cpuMicros = cpuMicros;
  }

  /** A transport that measures what goes through `inner`. @param sending how messages that are published count */
  measured(inner: Transport, sending: Exclude<MessageWay, 'received'>): Transport {
    return new MeasuredTransport(inner, sending, this);
  }

  [Symbol.iterator](): Iterator<MessageCost> {
    return this.#costs.values();
  }

  /** @internal Runs `step` for a message and counts its cost. */
  measure<T>(way: MessageWay, { headers }: Pick<WireMessage, 'headers'>, step: () => T): T {
    const around = this.#within;
    this.#within = 0;
    const begin = this.#cpuMicros();
    try {
      return step();
    } finally {
      const spent = this.#cpuMicros() - begin;
      this.#add(way, headers[HEADER.type]?.replace(/\/\d+$/, '') ?? 'other', spent - this.#within);
      this.#within = around + spent;
    }
  }

  #add(way: MessageWay, named: string, micros: number): void {
    const isKnown = this.#costs.has(`${way} ${named}`) || this.#costs.size < KINDS;
    const type = isKnown ? named : 'other';
    const cost = this.#costs.get(`${way} ${type}`) ?? { type, way, count: 0, micros: 0 };
    cost.count += 1;
    cost.micros += micros;
    this.#costs.set(`${way} ${type}`, cost);
  }
}

class MeasuredTransport implements Transport {
  readonly #inner: Transport;
  readonly #sending: Exclude<MessageWay, 'received'>;
  readonly #costs: MessageCosts;

  constructor(inner: Transport, sending: Exclude<MessageWay, 'received'>, costs: MessageCosts) {
    this.#inner = inner;
    this.#sending = sending;
    this.#costs = costs;
  }

  get keepsValues(): boolean {
    return this.#inner.keepsValues === true;
  }

  get connected(): boolean {
    return this.#inner.connected;
  }

  onConnection(listener: (connected: boolean) => void): Cancel {
    return this.#inner.onConnection(listener);
  }

  publish(message: WireMessage): void {
    this.#costs.measure(this.#sending, message, () => this.#inner.publish(message));
  }

  subscribe(pattern: string, listener: (message: WireMessage) => void): Cancel {
    return this.#inner.subscribe(pattern, this.#received(listener));
  }

  storeFact(key: string, fact: FactMessage): Promise<void> {
    return this.#costs.measure(this.#sending, fact, () => this.#inner.storeFact(key, fact));
  }

  watchFacts(pattern: string, listener: FactListener): Cancel {
    const message = this.#received((one) => listener.message(one));
    return this.#inner.watchFacts(pattern, { message, present: () => listener.present() });
  }

  #received(listener: (message: WireMessage) => void): (message: WireMessage) => void {
    // What a copy's transport receives is received again by that of the service.
    if (this.#sending === 'copied') return listener;
    return (message) => this.#costs.measure('received', message, () => listener(message));
  }
}
