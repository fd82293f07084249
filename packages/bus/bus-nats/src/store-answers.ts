import { type Cancel, type Clock, type Ids, KubusError, toError } from '@kubus/ports';
import type { Msg, MsgHdrs, NatsConnection } from '@nats-io/nats-core';
import { inboxPrefix } from './names.ts';

/** The answer of the fact store, as far as it is read. */
interface Answer {
  readonly stream?: string;
  readonly error?: { readonly description?: string };
}

interface Awaited {
  readonly subject: string;
  readonly until: number;
  readonly done: () => void;
  readonly failed: (error: Error) => void;
}

/**
 * Stores facts and awaits that the broker has them. The library's requests cost a timer, three promises and an Error with its stack each,
 * also when they succeed; these share one subscription and one timer.
 */
export class StoreAnswers {
  readonly #connection: NatsConnection;
  readonly #clock: Clock;
  readonly #timeoutMs: number;
  readonly #inbox: string;
  /** By the last part of the reply subject, the oldest first. */
  readonly #awaited = new Map<string, Awaited>();
  #count = 0;
  #timer: Cancel | undefined;

  /** @param options.timeoutMs how long an answer may take before the request counts as lost, in milliseconds */
  constructor(options: { connection: NatsConnection; instance: string; clock: Clock; ids: Ids; timeoutMs: number }) {
    this.#connection = options.connection;
    this.#clock = options.clock;
    this.#timeoutMs = options.timeoutMs;
    this.#inbox = `${inboxPrefix(options.instance)}.store.${options.ids.hex(8)}.`;
    this.#connection.subscribe(`${this.#inbox}*`, {
      callback: (error, message) => {
        if (error === null) this.#receive(message);
      },
    });
  }

  /**
   * Resolves when the broker has stored the message.
   *
   * @throws KubusError `not-stored` when the broker refuses it or does not answer in time; the library's error when the connection is closed
   * for good.
   */
  store(subject: string, data: string, headers: MsgHdrs): Promise<void> {
    const number = String(++this.#count);
    return new Promise((resolve, reject) => {
      this.#connection.publish(subject, data, { headers, reply: this.#inbox + number });
      const until = this.#clock.now() + this.#timeoutMs;
      this.#awaited.set(number, { subject, until, done: resolve, failed: reject });
      this.#timer ??= this.#clock.after(this.#timeoutMs, () => this.#endOverdue());
    });
  }

  #receive(message: Msg): void {
    const number = message.subject.slice(this.#inbox.length);
    const awaited = this.#awaited.get(number);
    if (awaited === undefined) return;
    this.#awaited.delete(number);
    if (this.#awaited.size === 0) this.#stopTimer();
    const problem = problemOf(message);
    if (problem === undefined) awaited.done();
    else awaited.failed(notStored(awaited.subject, problem));
  }

  /** All wait equally long: those that have waited too long are the first ones. */
  #endOverdue(): void {
    this.#timer = undefined;
    const now = this.#clock.now();
    for (const [number, { subject, until, failed }] of this.#awaited) {
      if (until > now) {
        this.#timer = this.#clock.after(until - now, () => this.#endOverdue());
        return;
      }
      this.#awaited.delete(number);
      failed(notStored(subject, `no answer within ${this.#timeoutMs} ms`));
    }
  }

  #stopTimer(): void {
    this.#timer?.();
    this.#timer = undefined;
  }
}

/** Why the broker has not stored the message; undefined when it has. */
function problemOf(message: Msg): string | undefined {
  try {
    const { stream, error } = message.json<Answer>();
    if (error !== undefined) return error.description ?? 'the broker refused it';
    return stream === undefined || stream === '' ? 'the broker’s answer names no stream' : undefined;
  } catch (error) {
    return `the broker’s answer is no JSON: ${toError(error).message}`;
  }
}

function notStored(subject: string, problem: string): KubusError {
  return new KubusError('not-stored', `${subject} was not stored: ${problem}`, { context: { subject } });
}
