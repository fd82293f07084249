import { type FactListener, type FactMessage, type Transport, type WireMessage, withPayload } from '@kubus/bus';
import { type Cancel, toError } from '@kubus/ports';
import type { Arrival, Tape } from './tape.ts';
import { unpack } from './values.ts';

const nothing = () => undefined;

/** The transport on a tape. It is connected according to the last notification of the service. */
export class TapedTransport implements Transport {
  readonly #tape: Tape;
  readonly #node: string;
  readonly #real: Transport | undefined;
  readonly #listeners: ((connected: boolean) => void)[] = [];
  #connected = false;

  constructor(tape: Tape, node: string, real?: Transport) {
    this.#tape = tape;
    this.#node = node;
    this.#real = real;
    tape.open(
      { what: 'connection', detail: null },
      (arrive) => {
        if (real?.connected === true) arrive({ value: true });
        return real?.onConnection((connected) => arrive({ value: connected })) ?? nothing;
      },
      (arrival) => {
        this.#connected = 'value' in arrival && arrival.value === true;
        for (const listener of [...this.#listeners]) listener(this.#connected);
      },
    );
  }

  get keepsValues(): boolean {
    return this.#real?.keepsValues === true;
  }

  get connected(): boolean {
    return this.#connected;
  }

  onConnection(listener: (connected: boolean) => void): Cancel {
    this.#listeners.push(listener);
    return () => {
      this.#listeners.splice(this.#listeners.indexOf(listener), 1);
    };
  }

  publish(message: WireMessage): void {
    this.#tape.do({ out: message }, () => this.#real?.publish(message));
  }

  subscribe(pattern: string, listener: (message: WireMessage) => void): Cancel {
    return this.#tape.open(
      { what: 'subscribe', detail: pattern },
      (arrive) => this.#real?.subscribe(pattern, (message) => arrive({ message })) ?? nothing,
      (arrival) => {
        if ('message' in arrival) listener(arrival.message);
      },
    );
  }

  storeFact(key: string, fact: FactMessage): Promise<void> {
    // In the form in which it is seen on the bus.
    const message: WireMessage = withPayload({ subject: `kubus.${this.#node}.${key}`, headers: fact.headers }, fact);
    return new Promise((resolve, reject) => {
      const close = this.#tape.open(
        { out: message },
        (arrive) => {
          this.#real?.storeFact(key, fact).then(
            () => arrive({ value: null }),
            (error: unknown) => arrive({ value: toError(error).message }),
          );
          return nothing;
        },
        (arrival) => {
          close();
          const failure = outcome(arrival);
          if (typeof failure === 'string') reject(new Error(failure));
          else resolve();
        },
      );
    });
  }

  watchFacts(pattern: string, listener: FactListener): Cancel {
    return this.#tape.open(
      { what: 'watch', detail: pattern },
      (arrive) =>
        this.#real?.watchFacts(pattern, {
          message: (message) => arrive({ message }),
          present: () => arrive({ value: null }),
        }) ?? nothing,
      (arrival) => {
        if ('message' in arrival) listener.message(arrival.message);
        else listener.present();
      },
    );
  }
}

function outcome(arrival: Arrival): unknown {
  return 'value' in arrival ? unpack(arrival.value) : undefined;
}
