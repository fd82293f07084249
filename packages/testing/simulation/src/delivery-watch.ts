import { HEADER, type Transport, type WireMessage } from '@kubus/bus';
import type { Violation } from './invariants.ts';

/**
 * Follows what the services of one process deliver to each other, and detects what a broker may do to messages and direct delivery must
 * not: change their order, deliver one twice, or let a reader change one.
 */
export class DeliveryWatch {
  readonly violations: Violation[] = [];

  /** The transport of one run of an instance, with its messages followed. */
  wrap(transport: Transport, instance: string): Transport {
    if (transport.keepsValues !== true) return transport;
    /** By publisher: its last message. */
    const last = new Map<string, number>();
    return {
      keepsValues: true,
      get connected() {
        return transport.connected;
      },
      onConnection: (listener) => transport.onConnection(listener),
      publish: (message) => transport.publish(message),
      subscribe: (pattern, listener) =>
        transport.subscribe(pattern, (message) => {
          if (message.value !== undefined) this.#check(last, message, instance);
          listener(message);
        }),
      storeFact: (key, fact) => transport.storeFact(key, fact),
      watchFacts: (pattern, listener) => transport.watchFacts(pattern, listener),
    };
  }

  #check(last: Map<string, number>, { subject, headers, value }: WireMessage, instance: string): void {
    const publisher = `${headers[HEADER.source]}.${headers[HEADER.epoch]}`;
    const seq = Number(headers[HEADER.seq]);
    const before = last.get(publisher) ?? 0;
    last.set(publisher, Math.max(before, seq));
    const detail = `${subject} ${publisher}.${seq} to ${instance}, after ${before}`;
    if (seq <= before) this.violations.push({ rule: 'direct delivery keeps the order', detail });
    if (!Object.isFrozen(value)) this.violations.push({ rule: 'what is delivered directly is frozen', detail });
  }
}
