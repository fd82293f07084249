import {
  ROOT,
  type ServiceName,
  encodeToken,
  factKey,
  serviceContracts,
  serviceInstance,
  subjectMatches,
} from '@kubus/contracts';
import { type Cancel, type Clock, type Ids, silentLogger } from '@kubus/ports';
import { Bus } from './bus.ts';
import { HEADER } from './envelope.ts';
import { Publisher } from './publisher.ts';
import type { FactListener, Transport, WireMessage } from './transport.ts';

interface Subscription {
  readonly pattern: string;
  readonly listener: (message: WireMessage) => void;
}

/** A service on a {@link LocalBroker}. */
export interface LocalMember {
  readonly bus: Bus;
  /** From now on it neither publishes nor receives anything, as after its end. */
  leave(): void;
}

/**
 * Announces a server that serves only what its test needs: callers send their commands to no server before. What it announces itself
 * later counts instead.
 */
export function announceServer(bus: Bus, service: ServiceName, clock: Clock, sealKey?: string): Promise<void> {
  const ids: Ids = { hex: (bytes) => '0'.repeat(2 * bytes), fraction: () => 0 };
  const { headers } = new Publisher({ publisherId: bus, clock, ids }).stamp(serviceInstance, {});
  const value = { service, epoch: bus.epoch, version: '0', pid: 1, startedAt: '2030-01-01T00:00:00Z', sealKey };
  const key = factKey(serviceInstance, bus.instance);
  return bus.transport.storeFact(key, { data: JSON.stringify(value), headers: { ...headers, [HEADER.version]: '0' } });
}

/** A broker inside a test: messages arrive at once, in order and everywhere. */
export class LocalBroker {
  /** Everything that was published; facts under the subjects on which readers receive them. */
  readonly said: WireMessage[] = [];
  readonly #node: string;
  readonly #facts = new Map<string, WireMessage>();
  readonly #subscriptions = new Set<Subscription>();
  #ids = 0;

  constructor(node: string) {
    this.#node = node;
  }

  /** Instance `slot` of a service in the epoch `epoch`. */
  join(service: ServiceName, clock: Clock, epoch = 1, slot = 0): LocalMember {
    const member = { alive: true };
    const bus = new Bus({
      node: this.#node,
      service,
      instance: `${service}-${slot}`,
      epoch,
      contract: serviceContracts[service],
      transport: this.#connect(member),
      clock,
      ids: this.#countingIds(),
      logger: silentLogger,
    });
    if (serviceContracts[service].serves.length > 0) void announceServer(bus, service, clock);
    return { bus, leave: () => (member.alive = false) };
  }

  #connect(member: { alive: boolean }): Transport {
    const whileAlive = (listener: (message: WireMessage) => void) => (message: WireMessage) => {
      if (member.alive) listener(message);
    };
    return {
      connected: true,
      onConnection: () => () => undefined,
      publish: (message) => {
        if (member.alive) this.#deliver(message);
      },
      subscribe: (pattern, listener) => this.#subscribe({ pattern, listener: whileAlive(listener) }),
      storeFact: (key, fact) => {
        if (member.alive) this.#store(key, { ...fact, subject: this.#subject(key) });
        return Promise.resolve();
      },
      watchFacts: (pattern, listener) =>
        this.#watch(this.#subject(pattern), {
          ...listener,
          message: whileAlive((message) => listener.message(message)),
        }),
    };
  }

  #store(key: string, fact: WireMessage): void {
    this.#facts.set(key, fact);
    this.#deliver(fact);
  }

  #watch(pattern: string, listener: FactListener): Cancel {
    const stored = [...this.#facts.values()].filter(({ subject }) => subjectMatches(pattern, subject));
    let ended = false;
    void Promise.resolve().then(() => {
      if (ended) return;
      for (const fact of stored) listener.message(fact);
      listener.present();
    });
    const end = this.#subscribe({ pattern, listener: (message) => listener.message(message) });
    return () => {
      ended = true;
      end();
    };
  }

  #subscribe(subscription: Subscription): Cancel {
    this.#subscriptions.add(subscription);
    return () => this.#subscriptions.delete(subscription);
  }

  /** Delivered in a later event loop turn, never while it is still being published. */
  #deliver(message: WireMessage): void {
    this.said.push(message);
    void Promise.resolve().then(() => {
      for (const { pattern, listener } of this.#subscriptions) {
        if (subjectMatches(pattern, message.subject)) listener(message);
      }
    });
  }

  #subject(key: string): string {
    return `${ROOT}.${encodeToken(this.#node)}.${key}`;
  }

  /** The same in each run of the test; no delay is randomly lengthened. */
  #countingIds(): Ids {
    return { hex: (bytes) => (++this.#ids).toString(16).padStart(2 * bytes, '0'), fraction: () => 0 };
  }
}
