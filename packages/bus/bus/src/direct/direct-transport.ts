import type { ServiceName } from '@kubus/contracts';
import type { Cancel } from '@kubus/ports';
import type { FactListener, FactMessage, Transport, WireMessage } from '../transport.ts';
import type { DirectDelivery } from './direct-delivery.ts';

/** One service's access to the bus in a process that it shares: to the others there, and through its own connection to the broker. */
export class DirectTransport implements Transport {
  readonly keepsValues = true;
  readonly service: ServiceName;
  readonly instance: string;
  /** @internal */
  readonly broker: Transport;
  readonly #delivery: DirectDelivery;
  readonly #listeners: ((connected: boolean) => void)[] = [];
  #isBrokerConnected: boolean;
  #suspended = false;
  #connected: boolean;
  #connection = 0;

  constructor(options: { delivery: DirectDelivery; service: ServiceName; instance: string; broker: Transport }) {
    this.#delivery = options.delivery;
    this.service = options.service;
    this.instance = options.instance;
    this.broker = options.broker;
    this.#isBrokerConnected = options.broker.connected;
    this.#connected = this.#isBrokerConnected;
    options.broker.onConnection((connected) => {
      this.#isBrokerConnected = connected;
      this.#update();
    });
  }

  get connected(): boolean {
    return this.#connected;
  }

  /** @internal Increases with each lost connection. */
  get connection(): number {
    return this.#connection;
  }

  onConnection(listener: (connected: boolean) => void): Cancel {
    this.#listeners.push(listener);
    return () => {
      this.#listeners.splice(this.#listeners.indexOf(listener), 1);
    };
  }

  publish(message: WireMessage): void {
    if (this.#connected) this.#delivery.publish(this, message);
  }

  subscribe(pattern: string, listener: (message: WireMessage) => void): Cancel {
    return this.#delivery.subscribe(this, pattern, listener);
  }

  storeFact(key: string, fact: FactMessage): Promise<void> {
    return this.#connected ? this.#delivery.store(this, key, fact) : this.broker.storeFact(key, fact);
  }

  watchFacts(pattern: string, listener: FactListener): Cancel {
    return this.#delivery.watch(this, pattern, listener);
  }

  /** @internal Counts as disconnected until {@link resume}. */
  suspend(): void {
    this.#suspended = true;
    this.#update();
  }

  /** @internal */
  resume(): void {
    this.#suspended = false;
    this.#update();
  }

  #update(): void {
    const connected = this.#isBrokerConnected && !this.#suspended;
    if (connected === this.#connected) return;
    this.#connected = connected;
    if (!connected) this.#connection += 1;
    for (const listener of [...this.#listeners]) listener(connected);
  }
}
