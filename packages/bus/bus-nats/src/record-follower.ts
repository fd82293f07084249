import type { StoredMessage } from '@kubus/bus';
import { type Ids, KubusError, type Logger, toError } from '@kubus/ports';
import { AckPolicy, DeliverPolicy } from '@nats-io/jetstream';
import type { Msg, NatsConnection, Subscription } from '@nats-io/nats-core';
import { STREAMS_API, inboxPrefix, nodeSubject, recordStream } from './names.ts';
import { deliveredMessage } from './record.ts';

/** How long the server may take to answer, in milliseconds. */
const ANSWER_MS = 5_000;
/** Messages that are requested at once, which limits the number in memory. */
const PULL = 500;
/** How long messages are collected before they are passed on together, in milliseconds. */
const GATHER_MS = 250;
/** A request for messages is renewed after this time, and the server sends heartbeats at this interval; milliseconds. */
const PULL_MS = 30_000;
const HEARTBEAT_MS = 5_000;
/** Delays between attempts, in milliseconds. */
const RETRY_FIRST_MS = 50;
const RETRY_MAX_MS = 2_000;
/** The server removes a consumer without requests after this time, in milliseconds. */
const CONSUMER_LIFE_MS = 60_000;

/** The state of a node's record, as reported by the broker. */
export interface RecordState {
  /** When the broker created it: a different time means a different record, with sequences from 1. */
  readonly created: string;
  /** The first and last sequence in it; 0 where it has always been empty. */
  readonly first: number;
  readonly last: number;
}

export interface FollowOptions {
  readonly connection: NatsConnection;
  readonly node: string;
  /** The identity of the connection; it needs the permission to follow the record. */
  readonly instance: string;
  readonly ids: Ids;
  readonly logger: Logger;
  /** Called on each connection: returns the sequence to start from. */
  readonly begin: (state: RecordState) => number;
  /** Receives messages in the order of the record. When it throws, the record is followed again, from the sequence that `begin` then returns. */
  readonly take: (messages: readonly StoredMessage[]) => void;
}

/** Thrown when following ends without an error of the record: the connection was lost, or it was ended. */
class Interrupted extends KubusError {}

/**
 * Follows every message of a node's record, across lost connections and restarts of the broker. It requests more only when the
 * received messages have been taken: a slow receiver makes the broker wait instead of using up memory.
 */
export class RecordFollower {
  readonly #options: FollowOptions;
  readonly #done: Promise<void>;
  #ended = false;
  #following = false;
  #restart: (() => void) | undefined;

  constructor(options: FollowOptions) {
    this.#options = options;
    void this.#watch();
    this.#done = this.#run();
  }

  /** Whether messages are being received. */
  get following(): boolean {
    return this.#following;
  }

  /** After it has resolved, no more messages are taken. */
  async stop(): Promise<void> {
    this.#ended = true;
    this.#restart?.();
    await this.#done;
  }

  async #watch(): Promise<void> {
    for await (const { type } of this.#options.connection.status()) {
      if (type === 'disconnect' || type === 'reconnect') this.#restart?.();
    }
    this.#restart?.();
  }

  async #run(): Promise<void> {
    const { logger } = this.#options;
    let wait = RETRY_FIRST_MS;
    /** Why it could not be followed the last time: said once. */
    let problem: string | undefined;
    const works = () => {
      wait = RETRY_FIRST_MS;
      problem = undefined;
    };
    while (!this.#isOver()) {
      try {
        await this.#follow(works);
      } catch (error) {
        const { message } = toError(error);
        if (!this.#isOver() && !(error instanceof Interrupted) && message !== problem) {
          logger.warn({ err: toError(error) }, 'the record cannot be followed; trying again until it can be');
          problem = message;
        }
      }
      this.#following = false;
      if (!this.#isOver()) await this.#pause(wait);
      wait = Math.min(wait * 2, RETRY_MAX_MS);
    }
  }

  #isOver(): boolean {
    return this.#ended || this.#options.connection.isClosed();
  }

  #pause(ms: number): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<undefined>();
    const timer = setTimeout(() => resolve(undefined), ms);
    this.#restart = () => resolve(undefined);
    return promise.then(() => clearTimeout(timer));
  }

  /**
   * Runs until there is an error, with which it rejects.
   *
   * @param works called when messages were taken: a record that can be followed, of which nothing can be taken, is no success
   */
  async #follow(works: () => void): Promise<never> {
    const { connection, node, instance, ids, begin, take } = this.#options;
    const failed = Promise.withResolvers<never>();
    failed.promise.catch(() => undefined);
    this.#restart = () => failed.reject(new Interrupted('interrupted', 'the connection was lost'));
    const id = ids.hex(8);
    const name = `record-${instance}-${id}`;
    const state = await readState(connection, node);
    const pull = new Pull({
      ...{ connection, stream: recordStream(node), name, inbox: `${inboxPrefix(instance)}.record.${id}` },
      take: (messages) => {
        take(messages);
        works();
      },
      fail: (error) => failed.reject(error),
    });
    try {
      await createConsumer(connection, node, name, begin(state));
      this.#following = true;
      pull.ask();
      return await failed.promise;
    } finally {
      pull.end();
    }
  }
}

async function ask<T>(connection: NatsConnection, subject: string, request: unknown): Promise<T> {
  const answer = await connection.request(subject, JSON.stringify(request), { timeout: ANSWER_MS });
  const document = answer.json<T & { error?: { description: string } }>();
  if (document.error !== undefined) throw new KubusError('record-refused', document.error.description);
  return document;
}

async function readState(connection: NatsConnection, node: string): Promise<RecordState> {
  interface Info {
    created: string;
    state: { first_seq: number; last_seq: number };
  }
  const { created, state } = await ask<Info>(connection, `${STREAMS_API}.STREAM.INFO.${recordStream(node)}`, {});
  return { created, first: state.first_seq, last: state.last_seq };
}

async function createConsumer(connection: NatsConnection, node: string, name: string, from: number): Promise<void> {
  const stream = recordStream(node);
  const filter = nodeSubject(node, '>');
  await ask(connection, `${STREAMS_API}.CONSUMER.CREATE.${stream}.${name}.${filter}`, {
    stream_name: stream,
    config: {
      name,
      ack_policy: AckPolicy.None,
      deliver_policy: DeliverPolicy.StartSequence,
      opt_start_seq: Math.max(1, from),
      filter_subject: filter,
      inactive_threshold: CONSUMER_LIFE_MS * 1_000_000,
      mem_storage: true,
      num_replicas: 1,
    },
  });
}

interface PullOptions {
  readonly connection: NatsConnection;
  readonly stream: string;
  readonly name: string;
  readonly inbox: string;
  readonly take: (messages: readonly StoredMessage[]) => void;
  readonly fail: (error: unknown) => void;
}

/** Repeatedly requests messages from a consumer. */
class Pull {
  readonly #options: PullOptions;
  readonly #subscription: Subscription;
  /** Messages that have been received and not taken yet. */
  #gathered: StoredMessage[] = [];
  #gathering: NodeJS.Timeout | undefined;
  #silent: NodeJS.Timeout | undefined;
  /** How many more messages the current request allows, and how many the consumer has delivered. */
  #open = 0;
  #delivered = 0;

  constructor(options: PullOptions) {
    this.#options = options;
    const { connection, inbox } = options;
    this.#subscription = connection.subscribe(inbox, {
      callback: (error, message) => {
        if (error !== null) options.fail(error);
        else if (message.subject === inbox) this.#status(message.headers?.code ?? 0, message);
        else this.#message(message);
      },
    });
  }

  ask(): void {
    const { connection, stream, name, inbox } = this.#options;
    this.#open = PULL;
    this.#restartSilenceTimer();
    const request = { batch: PULL, expires: PULL_MS * 1_000_000, idle_heartbeat: HEARTBEAT_MS * 1_000_000 };
    connection.publish(`${STREAMS_API}.CONSUMER.MSG.NEXT.${stream}.${name}`, JSON.stringify(request), { reply: inbox });
  }

  /** No more messages are taken; those that were received but not taken are delivered again to the next consumer. */
  end(): void {
    clearTimeout(this.#gathering);
    clearTimeout(this.#silent);
    if (!this.#options.connection.isClosed() && !this.#subscription.isClosed()) this.#subscription.unsubscribe();
  }

  #restartSilenceTimer(): void {
    clearTimeout(this.#silent);
    const silence = new KubusError('record-silent', 'the broker has stopped answering about the record');
    this.#silent = setTimeout(() => this.#options.fail(silence), 3 * HEARTBEAT_MS);
  }

  #status(code: number, message: Msg): void {
    this.#restartSilenceTimer();
    // A heartbeat, or the request has ended: its time is over, or no more messages follow.
    if (code === 100) return;
    if (code === 404 || code === 408) this.#again();
    else this.#options.fail(new KubusError('record-lost', `${code} ${message.headers?.description ?? ''}`));
  }

  #message(message: Msg): void {
    this.#restartSilenceTimer();
    const { stored, number } = deliveredMessage(message);
    if (number !== this.#delivered + 1) {
      this.#options.fail(new KubusError('record-gap', `delivery ${number} after ${this.#delivered}`));
      return;
    }
    this.#delivered = number;
    this.#open -= 1;
    this.#gathered.push(stored);
    if (this.#open === 0) this.#again();
    else this.#gathering ??= setTimeout(() => this.#hand(), GATHER_MS);
  }

  #again(): void {
    if (this.#hand()) this.ask();
  }

  #hand(): boolean {
    clearTimeout(this.#gathering);
    this.#gathering = undefined;
    const gathered = this.#gathered;
    this.#gathered = [];
    try {
      if (gathered.length > 0) this.#options.take(gathered);
      return true;
    } catch (error) {
      this.end();
      this.#options.fail(error);
      return false;
    }
  }
}
