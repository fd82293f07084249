import { type EventDeclaration, type RefusedMessage, subjectOf } from '@kubus/contracts';
import type { Logger } from '@kubus/ports';
import type { Publisher } from './publisher.ts';
import type { Transport, WireMessage } from './transport.ts';

/** How much of a refused payload is kept for inspection, in characters. */
const KEPT = 4096;

/**
 * What happens to an invalid message: it is counted, logged, published as an event that a recording
 * contains, and otherwise ignored. It never stops the service.
 */
export class Refusals {
  readonly #declaration: EventDeclaration<RefusedMessage>;
  readonly #node: string;
  readonly #instance: string;
  readonly #publisher: Publisher;
  readonly #transport: Transport;
  readonly #logger: Logger;
  #count = 0;

  constructor(options: {
    declaration: EventDeclaration<RefusedMessage>;
    node: string;
    instance: string;
    publisher: Publisher;
    transport: Transport;
    logger: Logger;
  }) {
    this.#declaration = options.declaration;
    this.#node = options.node;
    this.#instance = options.instance;
    this.#publisher = options.publisher;
    this.#transport = options.transport;
    this.#logger = options.logger;
  }

  get count(): number {
    return this.#count;
  }

  refuse(message: WireMessage, error: Error): void {
    this.#count += 1;
    this.#logger.warn({ subject: message.subject, err: error }, 'message refused');
    // A refusal is never answered with another refusal; otherwise two services could exchange them forever.
    const subject = subjectOf(this.#node, this.#declaration, this.#instance);
    if (message.subject === subject) return;
    const payload: RefusedMessage = {
      subject: message.subject,
      headers: { ...message.headers },
      error: error.message,
      payload: message.data.slice(0, KEPT),
      truncated: message.data.length > KEPT,
    };
    const { headers } = this.#publisher.stamp(this.#declaration, {});
    this.#transport.publish({ subject, headers, data: JSON.stringify(payload) });
  }
}
