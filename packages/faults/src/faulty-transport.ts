import { type FactListener, HEADER, type Transport, type WireMessage, decodeEnvelope } from '@kubus/bus';
import { type ActiveFault, ROOT, encodeToken } from '@kubus/contracts';
import type { Cancel, Clock } from '@kubus/ports';
import { Channel } from './channel.ts';
import { type Applied, type Counters, type Fate, decide } from './decide.ts';

/** A rule that was applied, and the message that it was applied to. */
export interface Disturbance extends Applied {
  /** Below `kubus.<node>.`. */
  readonly subject: string;
  /** Undefined where the message does not say. */
  readonly message: string | undefined;
  readonly pod: string | undefined;
  readonly side: 'sender' | 'reader';
}

export interface FaultyTransportOptions {
  readonly transport: Transport;
  readonly node: string;
  /** The instance whose transport it is. */
  readonly instance: string;
  readonly clock: Clock;
  /** Gives numbers in [0, 1). */
  readonly random: () => number;
  /** Told of each rule that is applied to a message. */
  readonly onDisturbed: (disturbance: Disturbance) => void;
  /** Told what went wrong with a message that was handed on late. */
  readonly onError: (error: unknown) => void;
}

/**
 * A transport that does to messages what rules say: to those that this instance sends, where a rule names no reader, and to
 * those that it hears, where a rule names it as the reader. Without rules it hands everything on at once.
 *
 * What is lost or late here is no lost connection: owners and readers do not begin anew because of it, as they would if the
 * broker were gone. That is what the faults are for.
 */
export class FaultyTransport implements Transport {
  readonly #options: FaultyTransportOptions;
  readonly #inner: Transport;
  readonly #prefix: string;
  readonly #active = new Map<string, { fault: ActiveFault; end: Cancel }>();
  readonly #sending: Channel;
  readonly #channels = new Set<Channel>();
  #counters: Counters = new Map();

  constructor(options: FaultyTransportOptions) {
    this.#options = options;
    this.#inner = options.transport;
    this.#prefix = `${ROOT}.${encodeToken(options.node)}.`;
    this.#sending = this.#channel();
  }

  get connected(): boolean {
    return this.#inner.connected;
  }

  onConnection(listener: (connected: boolean) => void): Cancel {
    return this.#inner.onConnection(listener);
  }

  publish(message: WireMessage): void {
    this.#sending.pass(message.subject, this.#fate(message, 'sender'), () => this.#inner.publish(message));
  }

  subscribe(pattern: string, listener: (message: WireMessage) => void): Cancel {
    const hearing = this.#hearing(listener);
    const end = this.#inner.subscribe(pattern, hearing.listen);
    return () => {
      end();
      hearing.end();
    };
  }

  storeFact(key: string, data: string, headers: Readonly<Record<string, string>>): Promise<void> {
    const fate = this.#fate({ subject: this.#prefix + key, headers, data }, 'sender');
    // Whoever stores it does not notice.
    if (fate.dropped) return Promise.resolve();
    return new Promise((resolve, reject) => {
      const store = () => void this.#inner.storeFact(key, data, headers).then(resolve, reject);
      this.#sending.pass(this.#prefix + key, fate, store);
    });
  }

  watchFacts(pattern: string, listener: FactListener): Cancel {
    const hearing = this.#hearing((message) => listener.message(message));
    const end = this.#inner.watchFacts(pattern, {
      message: hearing.listen,
      // What was stored has been delivered only when what is held back of it has been.
      present: () => hearing.afterPending(() => listener.present()),
    });
    return () => {
      end();
      hearing.end();
    };
  }

  /** The rule holds from now on, in the place of one with the same name, until it ends. False when there was one. */
  set(fault: ActiveFault): boolean {
    const { id } = fault.rule;
    const before = this.#active.get(id);
    before?.end();
    const left = Math.max(0, fault.until - this.#options.clock.now());
    this.#active.set(id, { fault, end: this.#options.clock.after(left, () => this.remove(id)) });
    return before === undefined;
  }

  /** The rule holds no more. What waits for others because of it goes on; what is delayed comes when it is due. */
  remove(id: string): void {
    const active = this.#active.get(id);
    if (active === undefined) return;
    active.end();
    this.#active.delete(id);
    this.#counters = new Map([...this.#counters].filter(([rule]) => rule !== id));
    for (const channel of this.#channels) channel.endWindow(id);
  }

  /** Ends every rule, and hands on all that is held back. */
  end(): void {
    for (const id of [...this.#active.keys()]) this.remove(id);
    for (const channel of this.#channels) channel.flush();
  }

  #hearing(listener: (message: WireMessage) => void): {
    listen: (message: WireMessage) => void;
    afterPending: (action: () => void) => void;
    end: Cancel;
  } {
    const channel = this.#channel();
    let ended = false;
    const unlessEnded = (action: () => void) => () => {
      if (!ended) action();
    };
    return {
      listen: (message) =>
        channel.pass(
          message.subject,
          this.#fate(message, 'reader'),
          unlessEnded(() => listener(message)),
        ),
      afterPending: (action) => channel.afterPending(unlessEnded(action)),
      end: () => {
        ended = true;
        channel.flush();
        this.#channels.delete(channel);
      },
    };
  }

  #channel(): Channel {
    const { clock, random, onError } = this.#options;
    const channel = new Channel({ clock, random, onError });
    this.#channels.add(channel);
    return channel;
  }

  #fate({ subject, headers }: WireMessage, side: Disturbance['side']): Fate {
    const { instance, random, clock, onDisturbed } = this.#options;
    const below = subject.slice(this.#prefix.length);
    const message = {
      subject: below,
      source: headers[HEADER.source] ?? '',
      pod: headers[HEADER.pod],
      reader: side === 'reader' ? instance : undefined,
    };
    const rules = [...this.#active.values()].map(({ fault }) => fault);
    const fate = decide(rules, message, this.#counters, random, clock.now());
    this.#counters = fate.counters;
    for (const applied of fate.applied) {
      onDisturbed({ ...applied, subject: below, message: idOf(headers), pod: message.pod, side });
    }
    return fate;
  }
}

function idOf(headers: WireMessage['headers']): string | undefined {
  try {
    return decodeEnvelope(headers).cause.id;
  } catch {
    return undefined;
  }
}
