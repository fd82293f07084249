import type { FactListener, Transport, WireMessage } from '@kubus/bus';
import { subjectMatches } from '@kubus/contracts';
import { type JetStreamClient, jetstream } from '@nats-io/jetstream';
import { type Cancel, type Clock, type Ids, KubusError, type Logger, toError } from '@kubus/ports';
import {
  type Msg,
  type MsgHdrs,
  type NatsConnection,
  type Subscription,
  headers as natsHeaders,
} from '@nats-io/nats-core';
import { loadStored } from './loader.ts';
import { bucketStream, inboxPrefix, nodeSubject, storeSubject } from './names.ts';

/** How long a store or a consumer request may take before it counts as lost. */
const REQUEST_MS = 5_000;
/** Waits between looks for the bucket after a connection; the launcher makes it. */
const BUCKET_FIRST_MS = 20;
const BUCKET_MAX_MS = 1_000;

export class MessageTooLarge extends KubusError {}

export interface NatsTransportOptions {
  readonly connection: NatsConnection;
  readonly node: string;
  readonly instance: string;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly logger: Logger;
}

/**
 * The bus on NATS. Facts are stored in a key-value bucket in memory, which republishes each change on the node's
 * subjects; a watch is a plain subscription to these, plus one ephemeral consumer that delivers what is stored already.
 * The two may overlap and overtake each other: readers order values by version. A plain subscription loses messages only
 * together with its connection, and every new connection loads everything anew.
 */
export class NatsTransport implements Transport {
  readonly #connection: NatsConnection;
  readonly #jetstream: JetStreamClient;
  readonly #node: string;
  readonly #instance: string;
  readonly #clock: Clock;
  readonly #ids: Ids;
  readonly #logger: Logger;
  readonly #listeners: ((connected: boolean) => void)[] = [];
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
    this.#jetstream = jetstream(options.connection, { timeout: REQUEST_MS });
    void this.#follow();
    this.#awaitBucket(BUCKET_FIRST_MS);
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
    this.#checkSize(message.subject, message.data);
    this.#connection.publish(message.subject, message.data, {
      headers: toNats(message.headers),
      ...(message.reply !== undefined && { reply: message.reply }),
    });
  }

  subscribe(pattern: string, listener: (message: WireMessage) => void): Cancel {
    const subscription = this.#connection.subscribe(pattern, {
      callback: (error, message) => {
        if (error !== null) this.#logger.error({ pattern, err: error }, 'subscription ended');
        // Whoever may make a consumer can have stored messages delivered anywhere, past all permissions; they keep the
        // subject under which they were stored.
        else if (!subjectMatches(pattern, message.subject))
          this.#logger.warn({ pattern, subject: message.subject }, 'a message of a foreign subject is dropped');
        // A message without headers is the broker's own, such as "no responders".
        else if (message.headers !== undefined && message.headers.code === 0) listener(fromNats(message));
        else if (message.headers === undefined)
          listener({ subject: message.subject, headers: {}, data: message.string() });
      },
    });
    return () => this.#end(subscription);
  }

  async storeFact(key: string, data: string, headers: Readonly<Record<string, string>>): Promise<void> {
    const subject = storeSubject(this.#node, key);
    this.#checkSize(subject, data);
    await this.#jetstream.publish(subject, data, { headers: toNats(headers), timeout: REQUEST_MS });
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
        const stored = fromNats(message);
        if (!ended) listener.message({ ...stored, subject: nodeSubject(this.#node, stored.subject.slice(prefix)) });
      },
    });
    loaded.then(
      () => {
        if (!ended) listener.present();
      },
      (error: unknown) => {
        if (ended || !this.#connected) return;
        this.#logger.warn({ pattern, err: toError(error) }, 'stored facts could not be loaded; connecting anew');
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
      if (status.type === 'error') this.#logger.error({ err: status.error }, 'the broker refused something');
      if (status.type === 'slowConsumer')
        this.#logger.warn({ pending: status.pending }, 'messages queue up in this client');
    }
    // Closed for good, which is told as no disconnection.
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
    this.#connection.request(`$JS.API.STREAM.INFO.${bucketStream(this.#node)}`, '', { timeout: REQUEST_MS }).then(
      (answer) => {
        if (answer.json<{ error?: unknown }>().error !== undefined) again();
        else if (attempt === this.#attempt) this.#setConnected(true);
      },
      () => again(),
    );
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

  #checkSize(subject: string, data: string): void {
    const limit = this.#connection.info?.max_payload ?? Number.POSITIVE_INFINITY;
    // Only a long text can be too large: UTF-8 has at most three bytes for one UTF-16 unit.
    if (data.length * 3 < limit) return;
    const bytes = Buffer.byteLength(data);
    if (bytes < limit) return;
    throw new MessageTooLarge('too-large', `a message of ${bytes} bytes on ${subject}: the bus carries ${limit}`, {
      context: { subject, bytes, limit },
    });
  }

  #end(subscription: Subscription): void {
    if (!this.#connection.isClosed() && !subscription.isClosed()) subscription.unsubscribe();
  }
}

function toNats(headers: Readonly<Record<string, string>>): MsgHdrs {
  const converted = natsHeaders();
  for (const [name, value] of Object.entries(headers)) converted.set(name, value);
  return converted;
}

/** A message without the broker's own headers. */
export function fromNats(message: Msg): WireMessage {
  const headers: Record<string, string> = {};
  if (message.headers !== undefined) {
    for (const name of message.headers.keys()) {
      // The broker adds headers of its own to stored and republished messages.
      if (!name.startsWith('Nats-')) headers[name] = message.headers.get(name);
    }
  }
  return {
    subject: message.subject,
    headers,
    data: message.string(),
    ...(message.reply !== undefined && message.reply !== '' && { reply: message.reply }),
  };
}
