import { type RecordedMessage, recordedMessage } from '@kubus/causality';
import type { Msg, NatsConnection } from '@nats-io/nats-core';
import { type BrokerMessage, deliveredMessage } from './broker-message.ts';
import { loadStored } from './loader.ts';
import { nodeSubject, recordStream } from './names.ts';
import { fromNats } from './nats-transport.ts';

/** How long the server may take to answer, in milliseconds. */
const ANSWER_MS = 5_000;

/**
 * Every message of a node's record under a filter (a subject below `kubus.<node>.`), oldest first.
 *
 * @param inbox a subject that this connection alone may read and uses for nothing else.
 */
export async function readRecord(
  connection: NatsConnection,
  node: string,
  filter: string,
  inbox: string,
): Promise<RecordedMessage[]> {
  const messages: RecordedMessage[] = [];
  await load({ connection, node, filter, inbox }, (wire) => {
    const recorded = recordedMessage(fromNats(wire));
    if (recorded !== undefined) messages.push(recorded);
  });
  return messages.sort((a, b) => a.at - b.at);
}

/** Everything that a node's record holds, as the broker keeps it. `inbox`: as of {@link readRecord}. */
export async function readWholeRecord(
  connection: NatsConnection,
  node: string,
  inbox: string,
): Promise<BrokerMessage[]> {
  const messages: BrokerMessage[] = [];
  await load({ connection, node, filter: '>', inbox }, (wire) => {
    const delivered = deliveredMessage(wire);
    if (delivered !== undefined) messages.push(delivered.message);
  });
  return messages;
}

function load(
  from: { connection: NatsConnection; node: string; filter: string; inbox: string },
  onMessage: (message: Msg) => void,
): Promise<void> {
  const { connection, node, filter, inbox } = from;
  return loadStored({
    ...{ connection, inbox, onMessage },
    stream: recordStream(node),
    filter: nodeSubject(node, filter),
    what: 'all',
    name: inbox.replaceAll('.', '-'),
    timeoutMs: ANSWER_MS,
  }).loaded;
}
