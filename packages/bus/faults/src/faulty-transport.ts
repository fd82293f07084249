import {
  type FactListener,
  type FactMessage,
  HEADER,
  type Transport,
  type WireMessage,
  decodeEnvelope,
} from '@kubus/bus';
import { type ActiveFault, ROOT, encodeToken } from '@kubus/contracts';
import type { Cancel, Clock } from '@kubus/ports';
import { Channel } from './channel.ts';
import { type Applied, type Counters, type Fate, decide } from './decide.ts';

/** A rule that was applied, and the message to which it was applied. */
export interface Disturbance extends Applied {
  /** Relative to `kubus.<node>.`. */
  readonly subject: string;
  /** Undefined where the message does not contain it. */
  readonly message: string | undefined;
  readonly pod: string | undefined;
  readonly side: 'sender' | 'reader';
}

export interface FaultyTransportOptions {
  readonly transport: Transport;
  readonly node: string;
  /** The instance that uses the transport. */
  readonly instance: string;
  readonly clock: Clock;
  /** Returns numbers in [0, 1). */
  readonly random: () => number;
  /** Called with each rule that is applied to a message. */
  readonly onDisturbed: (disturbance: Disturbance) => void;
  /** Called with the error of a message that was passed on late. */
  readonly onError: (error: unknown) => void;
}

/**
 * A transport that applies rules to messages: to those that this instance sends, where a rule names no reader, and to
 * those that it receives, where a rule names it as the reader. Without rules it passes everything on at once.
 *
 * Lost or late messages do not count as a lost connection: owners and readers do not start again because of them, as they would if
 * the broker were lost. That is the purpose of the faults.
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

  storeFact(key: string, fact: FactMessage): Promise<void> {
    const fate = this.#fate({ subject: this.#prefix + key, headers: fact.headers }, 'sender');
    // The caller does not notice.
    if (fate.dropped) return Promise.resolve();
    return new Promise((resolve, reject) => {
      const store = () => void this.#inner.storeFact(key, fact).then(resolve, reject);
      this.#sending.pass(this.#prefix + key, fate, store);
    });
  }

  watchFacts(pattern: string, listener: FactListener): Cancel {
    const hearing = this.#hearing((message) => listener.message(message));
    const end = this.#inner.watchFacts(pattern, {
      message: hearing.listen,
      // Stored values have been delivered only when those that are delayed have been.
      present: () => hearing.afterPending(() => listener.present()),
    });
    return () => {
      end();
      hearing.end();
    };
  }

  /** The rule is active from now on, instead of one with the same name, until it ends. False when there was one. */
  set(fault: ActiveFault): boolean {
    const { id } = fault.rule;
    const before = this.#active.get(id);
    before?.end();
    const left = Math.max(0, fault.until - this.#options.clock.now());
    this.#active.set(id, { fault, end: this.#options.clock.after(left, () => this.remove(id)) });
    return before === undefined;
  }

  /** Ends the rule. Messages that wait for others because of it are passed on; delayed ones arrive when they are due. */
  remove(id: string): void {
    const active = this.#active.get(id);
    if (active === undefined) return;
    active.end();
    this.#active.delete(id);
    this.#counters = new Map([...this.#counters].filter(([rule]) => rule !== id));
    for (const channel of this.#channels) channel.endWindow(id);
  }

  /** Ends every rule, and passes on everything that is delayed. */
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

  #fate({ subject, headers }: Pick<WireMessage, 'subject' | 'headers'>, side: Disturbance['side']): Fate {
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
