import { AckPolicy, type ConsumerConfig, DeliverPolicy } from '@nats-io/jetstream';
import { KubusError } from '@kubus/ports';
import type { Msg, NatsConnection } from '@nats-io/nats-core';
import { STREAMS_API } from './names.ts';

/** The server drops a loading consumer without a reader after this time, in milliseconds. */
const LOADER_LIFE_MS = 10_000;

export interface LoadOptions {
  readonly connection: NatsConnection;
  /** Prefix of the JetStream API in the account of the connection. Default: that of the services' account. */
  readonly api?: string | undefined;
  readonly stream: string;
  /** Which subjects of the stream. */
  readonly filter: string;
  /** `last`: the newest message of each subject; `all`: every message, oldest first; a position in the stream: every message from there on. */
  readonly what: 'last' | 'all' | number;
  /** The messages are delivered without their data. Default: false. */
  readonly headersOnly?: boolean;
  /** A subject under the connection's inbox prefix that nothing else uses. */
  readonly inbox: string;
  /** The consumer's name; unique. */
  readonly name: string;
  /** How long the server may be silent, in milliseconds. */
  readonly timeoutMs: number;
  readonly onMessage: (message: Msg) => void;
}

/**
 * Delivers the current content of a stream. Resolves when all of it has been delivered; the returned `end` stops it earlier.
 *
 * Rejects when the server refuses, or is silent for too long before it has delivered as many messages as it announced: a
 * server that announces more than it delivers would otherwise be awaited forever.
 */
export function loadStored(options: LoadOptions): { loaded: Promise<void>; end: () => void } {
  const { connection, api = STREAMS_API, stream, filter, inbox, name, timeoutMs, onMessage } = options;
  const { promise: loaded, resolve, reject } = Promise.withResolvers<undefined>();
  let awaited = Number.POSITIVE_INFINITY;
  let received = 0;
  const subscription = connection.subscribe(inbox, {
    callback: (error, message) => {
      // A status message of the server, such as a heartbeat, has no subject of the stream.
      if (error !== null || message.subject === inbox) return;
      received += 1;
      onMessage(message);
      if (received === awaited) finish();
      else stalled.refresh();
    },
  });
  const end = () => {
    clearTimeout(stalled);
    if (!connection.isClosed() && !subscription.isClosed()) subscription.unsubscribe();
  };
  const fail = (error: unknown) => {
    end();
    reject(error);
  };
  const finish = () => {
    end();
    resolve(undefined);
  };
  const stalled = setTimeout(() => {
    fail(
      new KubusError('load-stalled', `${received} of ${awaited} stored messages have arrived`, { context: { filter } }),
    );
  }, timeoutMs);
  const request = {
    stream_name: stream,
    config: {
      name,
      ack_policy: AckPolicy.None,
      ...delivery(options.what),
      headers_only: options.headersOnly ?? false,
      deliver_subject: inbox,
      filter_subject: filter,
      inactive_threshold: LOADER_LIFE_MS * 1_000_000,
      mem_storage: true,
      num_replicas: 1,
    },
  };
  connection
    .request(`${api}.CONSUMER.CREATE.${stream}.${name}.${filter}`, JSON.stringify(request), { timeout: timeoutMs })
    .then((answer) => {
      const created = answer.json<{ num_pending?: number; error?: { description: string } }>();
      if (created.error !== undefined) throw new KubusError('load-failed', created.error.description);
      awaited = created.num_pending ?? 0;
      if (received >= awaited) finish();
    })
    .catch(fail);
  return { loaded: loaded.then(() => undefined), end };
}

function delivery(what: LoadOptions['what']): Partial<ConsumerConfig> {
  if (typeof what === 'number') return { deliver_policy: DeliverPolicy.StartSequence, opt_start_seq: what };
  return { deliver_policy: what === 'all' ? DeliverPolicy.All : DeliverPolicy.LastPerSubject };
}
