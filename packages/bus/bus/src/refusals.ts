import { type EventDeclaration, type RefusedMessage, subjectOf } from '@kubus/contracts';
import type { Clock, Logger } from '@kubus/ports';
import type { Publisher } from './publisher.ts';
import type { Transport, WireMessage } from './transport.ts';

/** How much of a refused payload, and of the error about it, is kept for inspection, in characters. */
const KEPT = 4096;
/** How many headers are kept, and how much of each, in characters. */
const KEPT_HEADERS = 32;
const KEPT_OF_HEADER = 1024;

/** Of each subject one message is reported in this time, in milliseconds. */
const REPORT_MS = 1_000;
/** So many subjects are reported by themselves at a time; further ones together. */
const SUBJECTS = 16;
/** Stands for all further subjects. */
const FURTHER = '';

interface Refused {
  readonly message: WireMessage;
  readonly error: Error;
}

/**
 * What happens to an invalid message: it is counted, logged, published as an event that a recording
 * contains, and otherwise ignored. It never stops the service. Whoever sends thousands does not fill logs and recordings: of each
 * subject one message a second is reported, with the number of those since the last report.
 */
export class Refusals {
  readonly #declaration: EventDeclaration<RefusedMessage>;
  readonly #node: string;
  readonly #instance: string;
  readonly #publisher: Publisher;
  readonly #transport: Transport;
  readonly #logger: Logger;
  readonly #clock: Clock;
  /** By subject, for a second from each report: how many have been refused since, and the last of them. */
  readonly #since = new Map<string, { count: number; last: Refused | undefined }>();
  #count = 0;

  constructor(options: {
    declaration: EventDeclaration<RefusedMessage>;
    node: string;
    instance: string;
    publisher: Publisher;
    transport: Transport;
    logger: Logger;
    clock: Clock;
  }) {
    this.#declaration = options.declaration;
    this.#node = options.node;
    this.#instance = options.instance;
    this.#publisher = options.publisher;
    this.#transport = options.transport;
    this.#logger = options.logger;
    this.#clock = options.clock;
  }

  get count(): number {
    return this.#count;
  }

  refuse(message: WireMessage, error: Error): void {
    this.#count += 1;
    const isOwn = this.#since.has(message.subject) || this.#since.size < SUBJECTS;
    const subject = isOwn ? message.subject : FURTHER;
    const since = this.#since.get(subject);
    if (since === undefined) {
      this.#report(subject, { message, error }, 1);
      return;
    }
    since.count += 1;
    since.last = { message, error };
  }

  #report(subject: string, refused: Refused, count: number): void {
    this.#since.set(subject, { count: 0, last: undefined });
    this.#clock.after(REPORT_MS, () => {
      const { count: more = 0, last } = this.#since.get(subject) ?? {};
      if (last === undefined) this.#since.delete(subject);
      else this.#report(subject, last, more);
    });
    const { message, error } = refused;
    const text = error.message.slice(0, KEPT);
    const isFurther = subject === FURTHER && { furtherSubjects: true };
    this.#logger.warn({ subject: message.subject, error: text, count, ...isFurther }, 'message refused');
    this.#publish(message, text, count);
  }

  #publish(message: WireMessage, error: string, count: number): void {
    // A refusal is never answered with another refusal; otherwise two services could exchange them forever.
    const subject = subjectOf(this.#node, this.#declaration, this.#instance);
    if (message.subject === subject) return;
    const kept = Object.entries(message.headers).slice(0, KEPT_HEADERS);
    const payload: RefusedMessage = {
      subject: message.subject,
      headers: Object.fromEntries(kept.map(([name, value]) => [name, value.slice(0, KEPT_OF_HEADER)])),
      error,
      payload: message.data.slice(0, KEPT),
      truncated: message.data.length > KEPT,
      ...(count > 1 && { count }),
    };
    const { headers } = this.#publisher.stamp(this.#declaration, {});
    this.#transport.publish({ subject, headers, data: JSON.stringify(payload) });
  }
}
