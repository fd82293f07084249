import { type RecordedMessage, recordedMessage } from '@kubus/causality';
import type { NatsConnection } from '@nats-io/nats-core';
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
  const { loaded } = loadStored({
    connection,
    stream: recordStream(node),
    filter: nodeSubject(node, filter),
    what: 'all',
    inbox,
    name: inbox.replaceAll('.', '-'),
    timeoutMs: ANSWER_MS,
    onMessage: (wire) => {
      const recorded = recordedMessage(fromNats(wire));
      if (recorded !== undefined) messages.push(recorded);
    },
  });
  await loaded;
  return messages.sort((a, b) => a.at - b.at);
}
