import type { StoredMessage } from '@kubus/bus';
import { KubusError } from '@kubus/ports';
import type { Msg, NatsConnection } from '@nats-io/nats-core';
import { loadStored } from './loader.ts';
import { nodeSubject, recordStream } from './names.ts';
import { fromNats } from './nats-transport.ts';

/** How long the server may take to answer, in milliseconds. */
const ANSWER_MS = 5_000;

/**
 * Every message of a node's record that matches one of the filters (subjects relative to `kubus.<node>.`, which do not overlap), in the
 * order of the broker.
 *
 * @param inbox a subject that only this connection may read, and that is used for nothing else, nor anything below it
 */
export async function readRecord(
  connection: NatsConnection,
  node: string,
  filters: readonly string[],
  inbox: string,
): Promise<StoredMessage[]> {
  const messages: StoredMessage[] = [];
  const loads = filters.map((filter, number) => {
    const { loaded } = loadStored({
      connection,
      stream: recordStream(node),
      filter: nodeSubject(node, filter),
      what: 'all',
      inbox: `${inbox}.${number}`,
      name: `${inbox.replaceAll('.', '-')}-${number}`,
      timeoutMs: ANSWER_MS,
      onMessage: (wire) => messages.push(storedMessage(wire)),
    });
    return loaded;
  });
  await Promise.all(loads);
  return messages.sort((one, other) => one.seq - other.seq);
}

/**
 * A message as delivered by a consumer of a stream: its reply subject contains its position in the stream and its time
 * (NATS ADR-15, "JetStream Subjects and Replies": 9 tokens, or 11 and more with domain and account).
 */
export function storedMessage(wire: Msg): StoredMessage {
  return deliveredMessage(wire).stored;
}

/** As {@link storedMessage}, with its number among the messages that the consumer has delivered. */
export function deliveredMessage(wire: Msg): { stored: StoredMessage; number: number } {
  const { reply = '', ...message } = fromNats(wire);
  const tokens = reply.split('.');
  const first = tokens.length > 9 ? 7 : 5;
  const [seq = NaN, number = NaN, nanoseconds = NaN] = tokens.slice(first, first + 3).map(Number);
  const isPlace = Number.isSafeInteger(seq) && Number.isSafeInteger(number) && Number.isFinite(nanoseconds);
  if (!reply.startsWith('$JS.ACK.') || !isPlace) {
    throw new KubusError('bad-delivery', `not from a stream: ${wire.subject}`, { context: { reply } });
  }
  return { stored: { seq, stored: nanoseconds / 1_000_000, message }, number };
}
