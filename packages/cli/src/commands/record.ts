import { type Envelope, type WireMessage, decodeEnvelope, parseTime } from '@kubus/bus';
import { fromNats, loadStored, nodeSubject, recordStream } from '@kubus/bus-nats';
import type { NodeLink } from '../node-link.ts';

/** A message of the node's record. */
export interface RecordedMessage {
  readonly message: WireMessage;
  readonly envelope: Envelope;
  /** When it was published, milliseconds since the Unix epoch with a fraction. */
  readonly at: number;
}

/** Every message of the node's record under a filter (a subject below `kubus.<node>.`), oldest first. */
export async function readRecord(link: NodeLink, filter: string): Promise<RecordedMessage[]> {
  const messages: RecordedMessage[] = [];
  const inbox = link.inbox();
  const { loaded } = loadStored({
    connection: link.connection,
    stream: recordStream(link.bus.node),
    filter: nodeSubject(link.bus.node, filter),
    what: 'all',
    inbox,
    name: inbox.replaceAll('.', '-'),
    timeoutMs: 5_000,
    onMessage: (wire) => {
      const recorded = recordedMessage(fromNats(wire));
      if (recorded !== undefined) messages.push(recorded);
    },
  });
  await loaded;
  return messages.sort((a, b) => a.at - b.at);
}

/** Undefined for a message that is not one of the node's own. */
export function recordedMessage(message: WireMessage): RecordedMessage | undefined {
  try {
    const envelope = decodeEnvelope(message.headers);
    return { message, envelope, at: parseTime(envelope.time) };
  } catch {
    return undefined;
  }
}
