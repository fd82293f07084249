import type { FactListener, FactMessage, Transport, WireMessage } from '@kubus/bus';
import { subjectMatches } from '@kubus/contracts';
import type { Cancel } from '@kubus/ports';
import type { Scheduler } from './scheduler.ts';

/** The fate of one delivery: the delays after which it arrives; an empty list means that it is lost. */
export interface Weather {
  /** A command, reply or event. May be lost, duplicated or overtaken. */
  message(message: WireMessage, to: string): readonly number[];
  /** A fact on its way into the store, or from the store to a watcher. May be delayed and overtaken, but arrives. */
  fact(key: string, to: string): number;
}

/** Everything arrives in order, `delayMs` later. */
export function calm(delayMs = 0.3): Weather {
  return { message: () => [delayMs], fact: () => delayMs };
}

interface Watch {
  readonly pattern: string;
  readonly listener: FactListener;
  ended: boolean;
}

export interface StoredFact {
  readonly data: string;
  readonly headers: Readonly<Record<string, string>>;
}

/** A message broker in memory, in the role of NATS. Its stored facts are lost when it crashes. */
export class MemoryBroker {
  readonly #scheduler: Scheduler;
  readonly #node: string;
  readonly #facts = new Map<string, StoredFact>();
  readonly #connections = new Set<MemoryConnection>();
  readonly #observers: ((message: WireMessage) => void)[] = [];
  weather: Weather;
  #life = 1;
  #up = true;

  constructor(options: { scheduler: Scheduler; node: string; weather?: Weather }) {
    this.#scheduler = options.scheduler;
    this.#node = options.node;
    this.weather = options.weather ?? calm();
  }

  get up(): boolean {
    return this.#up;
  }

  /** Calls `observer` with every message that the broker accepts, including facts: a recording. */
  observe(observer: (message: WireMessage) => void): void {
    this.#observers.push(observer);
  }

  /**
   * A connection for the process `name`; connected as soon as the broker is up.
   *
   * @param run runs an action in the process: at once, unless it is halted
   */
  connect(name: string, run?: (action: () => void) => void): MemoryConnection {
    const connection = new MemoryConnection(this, name, run);
    this.#connections.add(connection);
    if (this.#up) this.#join(connection);
    return connection;
  }

  /** The value that is stored under `key`: its headers and text. */
  stored(key: string): StoredFact | undefined {
    return this.#facts.get(key);
  }

  /** Every key of the store. */
  get keys(): string[] {
    return [...this.#facts.keys()];
  }

  /** Crashes the broker: messages in flight and all stored facts are lost, and every client notices. */
  crash(): void {
    this.#up = false;
    this.#life += 1;
    this.#facts.clear();
    for (const connection of this.#connections) connection.lost();
  }

  start(): void {
    this.#up = true;
    for (const connection of this.#connections) this.#join(connection);
  }

  /** The client's connection breaks and is restored; the broker and its facts stay. */
  glitch(connection: MemoryConnection): void {
    if (!this.#up || !connection.connected) return;
    connection.lost();
    this.#join(connection);
  }

  /** @internal */
  leave(connection: MemoryConnection): void {
    this.#connections.delete(connection);
  }

  /** @internal */
  publish(message: WireMessage): void {
    for (const observer of this.#observers) observer(message);
    for (const connection of this.#connections) {
      for (const delay of connection.wants(message.subject) ? this.weather.message(message, connection.name) : []) {
        this.#whileAlive(delay, () => connection.deliver(message));
      }
    }
  }

  /** @internal */
  store(from: MemoryConnection, key: string, fact: StoredFact): Promise<void> {
    return new Promise((resolve, reject) => {
      const life = this.#life;
      this.#scheduler.after(this.weather.fact(key, 'store'), () => {
        if (life !== this.#life || !(from.connected || from.dead)) {
          reject(new Error('connection lost'));
          return;
        }
        this.#facts.set(key, fact);
        const message = this.#asMessage(key, fact);
        for (const observer of this.#observers) observer(message);
        for (const connection of this.#connections) {
          for (const watch of connection.watchesOf(message.subject)) {
            this.#whileAlive(this.weather.fact(key, connection.name), () => {
              connection.run(() => {
                if (!watch.ended) watch.listener.message(message);
              });
            });
          }
        }
        // What a process sent before its crash still arrives; only the process is not notified of it.
        if (!from.dead) from.run(resolve);
      });
    });
  }

  /** @internal Delivers what is stored, then reports the end of it. */
  load(connection: MemoryConnection, watch: Watch): void {
    this.#whileAlive(this.weather.fact(watch.pattern, connection.name), () => {
      const stored = [...this.#facts].map(([key, fact]) => this.#asMessage(key, fact));
      connection.run(() => {
        if (watch.ended) return;
        for (const message of stored)
          if (subjectMatches(watch.pattern, message.subject)) watch.listener.message(message);
        watch.listener.present();
      });
    });
  }

  /** @internal */
  subject(key: string): string {
    return `kubus.${this.#node}.${key}`;
  }

  #asMessage(key: string, fact: StoredFact): WireMessage {
    return { subject: this.subject(key), headers: fact.headers, data: fact.data };
  }

  #join(connection: MemoryConnection): void {
    this.#whileAlive(this.weather.fact('connect', connection.name), () => connection.joined());
  }

  #whileAlive(delay: number, action: () => void): void {
    const life = this.#life;
    this.#scheduler.after(delay, () => {
      if (life === this.#life) action();
    });
  }
}

/** One process's connection to a {@link MemoryBroker}. */
export class MemoryConnection implements Transport {
  readonly name: string;
  readonly #broker: MemoryBroker;
  readonly #listeners: ((connected: boolean) => void)[] = [];
  readonly #subscriptions: { pattern: string; listener: (message: WireMessage) => void; ended: boolean }[] = [];
  #watches: Watch[] = [];
  #connected = false;
  #dead = false;
  #facts: Promise<void> = Promise.resolve();

  /** @internal */
  readonly run: (action: () => void) => void;

  constructor(broker: MemoryBroker, name: string, run: (action: () => void) => void = (action) => action()) {
    this.#broker = broker;
    this.name = name;
    this.run = run;
  }

  get connected(): boolean {
    return this.#connected;
  }

  get dead(): boolean {
    return this.#dead;
  }

  onConnection(listener: (connected: boolean) => void): Cancel {
    this.#listeners.push(listener);
    return () => {
      this.#listeners.splice(this.#listeners.indexOf(listener), 1);
    };
  }

  /** Only the text of a message leaves the process. */
  publish({ subject, headers, data, reply }: WireMessage): void {
    if (this.#connected) this.#broker.publish({ subject, headers, data, ...(reply !== undefined && { reply }) });
  }

  subscribe(pattern: string, listener: (message: WireMessage) => void): Cancel {
    const subscription = { pattern, listener, ended: false };
    this.#subscriptions.push(subscription);
    return () => {
      subscription.ended = true;
    };
  }

  storeFact(key: string, { data, headers }: FactMessage): Promise<void> {
    if (this.#dead) return new Promise(() => undefined);
    if (!this.#connected) return Promise.reject(new Error('not connected'));
    // One connection's facts are stored in the order in which it sent them.
    const stored = this.#facts.then(() => this.#broker.store(this, key, { data, headers }));
    this.#facts = stored.catch(() => undefined);
    return stored;
  }

  watchFacts(pattern: string, listener: FactListener): Cancel {
    const watch: Watch = { pattern: this.#broker.subject(pattern), listener, ended: false };
    this.#watches.push(watch);
    this.#broker.load(this, watch);
    return () => {
      watch.ended = true;
      this.#watches = this.#watches.filter((one) => one !== watch);
    };
  }

  /** The process has ended: no message arrives or leaves any more, and none of its promises resolves. */
  kill(): void {
    this.#dead = true;
    this.#connected = false;
    this.#endWatches();
    this.#broker.leave(this);
  }

  /** @internal */
  lost(): void {
    if (!this.#connected) return;
    this.#connected = false;
    this.#endWatches();
    this.#facts = Promise.resolve();
    for (const listener of [...this.#listeners]) this.run(() => listener(false));
  }

  /** @internal */
  joined(): void {
    if (this.#dead || this.#connected) return;
    this.#connected = true;
    for (const listener of [...this.#listeners]) this.run(() => listener(true));
  }

  /** @internal */
  wants(subject: string): boolean {
    return this.#connected && this.#subscriptions.some((one) => !one.ended && subjectMatches(one.pattern, subject));
  }

  /** @internal */
  deliver(message: WireMessage): void {
    if (!this.#connected) return;
    for (const one of [...this.#subscriptions]) {
      if (!subjectMatches(one.pattern, message.subject)) continue;
      this.run(() => {
        if (!one.ended) one.listener(message);
      });
    }
  }

  /** @internal */
  watchesOf(subject: string): Watch[] {
    return this.#watches.filter((watch) => subjectMatches(watch.pattern, subject));
  }

  #endWatches(): void {
    for (const watch of this.#watches) watch.ended = true;
    this.#watches = [];
  }
}
