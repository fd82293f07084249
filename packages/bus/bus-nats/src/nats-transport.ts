import {
  type FactListener,
  type FactMessage,
  HEADER,
  MessageTooLarge,
  type Transport,
  type WireMessage,
} from '@kubus/bus';
import { subjectMatches } from '@kubus/contracts';
import { type Cancel, type Clock, type Ids, type Logger, toError } from '@kubus/ports';
import {
  InvalidArgumentError,
  type Msg,
  type MsgHdrs,
  MsgHdrsImpl,
  type NatsConnection,
  type Subscription,
} from '@nats-io/nats-core';
import { loadStored } from './loader.ts';
import { STREAMS_API, bucketStream, inboxPrefix, nodeSubject, storeSubject } from './names.ts';
import { StoreAnswers } from './store-answers.ts';
import { StoredKeys } from './stored-keys.ts';

/** How long a store or a consumer request may take before it counts as lost, in milliseconds. */
const REQUEST_MS = 5_000;
/** Delays between checks for the bucket after a connection, in milliseconds; the launcher creates the bucket. */
const BUCKET_FIRST_MS = 20;
const BUCKET_MAX_MS = 1_000;
/** How often what is stored is compared with the bucket by default. */
const COMPARE_MS = 30_000;

/** JetStream's limit of the headers of a message, in bytes. */
const MAX_HEADERS = 64 * 1024;

export interface NatsTransportOptions {
  readonly connection: NatsConnection;
  readonly node: string;
  readonly instance: string;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly logger: Logger;
  /** How often this process looks whether the bucket still has what it has stored, in milliseconds. Default: 30 s. */
  readonly compareMs?: number | undefined;
}

/**
 * The bus on NATS. Facts are stored in a key-value bucket in memory, which republishes each change on the node's
 * subjects; a watch is a plain subscription to these, plus one ephemeral consumer that delivers the stored values.
 * The two may overlap and overtake each other: readers order values by version. A plain subscription loses messages only
 * when its connection is lost, and every new connection loads everything again.
 */
export class NatsTransport implements Transport {
  readonly #connection: NatsConnection;
  readonly #store: StoreAnswers;
  readonly #node: string;
  readonly #instance: string;
  readonly #clock: Clock;
  readonly #ids: Ids;
  readonly #logger: Logger;
  readonly #listeners: ((connected: boolean) => void)[] = [];
  readonly #keys: StoredKeys;
  readonly #compareMs: number;
  #connected = false;
  #attempt = 0;
  #retry: Cancel | undefined;

  constructor(options: NatsTransportOptions) {
    this.#connection = options.connection;
    this.#node = options.node;
    this.#instance = options.instance;
    this.#clock = options.clock;
    this.#ids = options.ids;
    this.#logger = options.logger;
    this.#store = new StoreAnswers({ ...options, timeoutMs: REQUEST_MS });
    this.#keys = new StoredKeys(options);
    this.#compareMs = options.compareMs ?? COMPARE_MS;
    void this.#follow();
    this.#awaitBucket(BUCKET_FIRST_MS);
    this.#compareLater();
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
    if (!this.#connected) return;
    // The text may be made only now.
    const { subject, headers, data, reply } = message;
    this.#checkSize({ subject, headers, data });
    this.#connection.publish(subject, data, { headers: toNats(headers), ...(reply !== undefined && { reply }) });
  }

  subscribe(pattern: string, listener: (message: WireMessage) => void): Cancel {
    const subscription = this.#connection.subscribe(pattern, {
      callback: (error, message) => {
        if (error !== null) this.#logger.error({ pattern, err: error }, 'subscription ended');
        // An identity that may create a consumer can have stored messages delivered to any subject, regardless of permissions; they keep
        // the subject under which they were stored.
        else if (!subjectMatches(pattern, message.subject))
          this.#logger.warn({ pattern, subject: message.subject }, 'a message of another subject was dropped');
        // A message without headers comes from the broker itself, such as "no responders".
        else if (message.headers !== undefined && message.headers.code === 0) listener(fromNats(message));
        else if (message.headers === undefined)
          listener({ subject: message.subject, headers: {}, data: message.string() });
      },
    });
    return () => this.#end(subscription);
  }

  async storeFact(key: string, { data, headers }: FactMessage): Promise<void> {
    const subject = storeSubject(this.#node, key);
    this.#checkSize({ subject, data, headers });
    await this.#store.store(subject, data, toNats(headers));
    this.#keys.set(subject, headers[HEADER.removed] !== undefined);
  }

  watchFacts(pattern: string, listener: FactListener): Cancel {
    let ended = false;
    const live = this.subscribe(nodeSubject(this.#node, pattern), (message) => listener.message(message));
    const id = this.#ids.hex(8);
    const prefix = storeSubject(this.#node, '').length;
    const { loaded, end } = loadStored({
      connection: this.#connection,
      stream: bucketStream(this.#node),
      filter: storeSubject(this.#node, pattern),
      what: 'last',
      inbox: `${inboxPrefix(this.#instance)}.load.${id}`,
      name: `load-${this.#instance}-${id}`,
      timeoutMs: REQUEST_MS,
      onMessage: (message) => {
        // The reply subject is that of the consumer, and no part of what was stored.
        const { reply: _reply, ...stored } = fromNats(message);
        if (!ended) listener.message({ ...stored, subject: nodeSubject(this.#node, stored.subject.slice(prefix)) });
      },
    });
    loaded.then(
      () => {
        if (!ended) listener.present();
      },
      (error: unknown) => {
        if (ended || !this.#connected) return;
        this.#logger.warn({ pattern, err: toError(error) }, 'stored facts could not be loaded; reconnecting');
        this.#reset();
      },
    );
    return () => {
      ended = true;
      live();
      end();
    };
  }

  async #follow(): Promise<void> {
    for await (const status of this.#connection.status()) {
      if (status.type === 'disconnect') this.#setConnected(false);
      if (status.type === 'reconnect') this.#awaitBucket(BUCKET_FIRST_MS);
      if (status.type === 'error') this.#logger.error({ err: status.error }, 'the broker refused a request');
      if (status.type === 'slowConsumer')
        this.#logger.warn({ pending: status.pending }, 'messages are queued in this client');
    }
    // Closed permanently, which is not reported as a disconnection.
    this.#setConnected(false);
  }

  /** Connected means more than a TCP connection: the fact store must answer too. */
  #awaitBucket(wait: number): void {
    const attempt = ++this.#attempt;
    this.#retry?.();
    const again = () => {
      if (attempt !== this.#attempt || this.#connection.isClosed()) return;
      this.#retry = this.#clock.after(wait, () => this.#awaitBucket(Math.min(wait * 2, BUCKET_MAX_MS)));
    };
    this.#connection
      .request(`${STREAMS_API}.STREAM.INFO.${bucketStream(this.#node)}`, '', { timeout: REQUEST_MS })
      .then(
        (answer) => {
          if (answer.json<{ error?: unknown }>().error !== undefined) again();
          else if (attempt === this.#attempt) this.#setConnected(true);
        },
        () => again(),
      );
  }

  /** A bucket that has lost keys counts as a lost connection: with the next one, owners publish everything again. */
  #compareLater(): void {
    this.#clock.after(this.#compareMs, () => {
      if (this.#connection.isClosed()) return;
      const lost = this.#connected ? this.#keys.takeLost(REQUEST_MS) : Promise.resolve(0);
      lost
        .then(
          (count) => {
            if (count === 0) return;
            this.#logger.error({ count }, 'the bucket has lost keys; publishing everything again');
            this.#reset();
          },
          // Whether the broker answers is followed by the connection.
          () => undefined,
        )
        .finally(() => this.#compareLater());
    });
  }

  #reset(): void {
    this.#setConnected(false);
    this.#awaitBucket(BUCKET_FIRST_MS);
  }

  #setConnected(connected: boolean): void {
    if (!connected) this.#attempt += 1;
    if (connected === this.#connected) return;
    this.#connected = connected;
    for (const listener of [...this.#listeners]) listener(connected);
  }

  #checkSize({ subject, data, headers }: WireMessage): void {
    const limit = this.#connection.info?.max_payload ?? Number.POSITIVE_INFINITY;
    let length = 0;
    for (const [name, value] of Object.entries(headers)) length += name.length + value.length + 4;
    if (length > MAX_HEADERS) throw tooLarge(subject, 'headers', length, MAX_HEADERS);
    // Only a long text can be too large: UTF-8 has at most three bytes per UTF-16 unit.
    if (data.length * 3 < limit) return;
    const bytes = Buffer.byteLength(data);
    if (bytes >= limit) throw tooLarge(subject, 'message', bytes, limit);
  }

  #end(subscription: Subscription): void {
    if (!this.#connection.isClosed() && !subscription.isClosed()) subscription.unsubscribe();
  }
}

function tooLarge(subject: string, what: 'message' | 'headers', bytes: number, limit: number): MessageTooLarge {
  const of = what === 'message' ? 'a message' : 'headers';
  const message = `${of} of ${bytes} bytes on ${subject}: the limit of the bus is ${limit}`;
  return new MessageTooLarge('too-large', message, { context: { subject, bytes, limit } });
}

/**
 * Headers with one value each. The library's `set` looks through all headers for each one.
 *
 * @throws InvalidArgumentError for a value that would end its line
 */
function toNats(headers: Readonly<Record<string, string>>): MsgHdrs {
  const values: Record<string, string[]> = {};
  for (const [name, value] of Object.entries(headers)) {
    if (/[\r\n]/.test(value)) throw new InvalidArgumentError(`the header ${name} has a line break`);
    values[name] = [value];
  }
  return MsgHdrsImpl.fromRecord(values);
}

/** A message without the broker's own headers. */
export function fromNats(message: Msg): WireMessage {
  const headers: Record<string, string> = {};
  if (message.headers !== undefined) {
    for (const [name, [value]] of message.headers) {
      // The broker adds its own headers to stored and republished messages.
      if (value !== undefined && !name.startsWith('Nats-')) headers[name] = value;
    }
  }
  return {
    subject: message.subject,
    headers,
    data: message.string(),
    ...(message.reply !== undefined && message.reply !== '' && { reply: message.reply }),
  };
}
