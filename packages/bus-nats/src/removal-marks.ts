import { HEADER, decodeEnvelope } from '@kubus/bus';
import { COMPLETE, encodeToken } from '@kubus/contracts';
import { KubusError } from '@kubus/ports';
import type { Msg, NatsConnection } from '@nats-io/nats-core';
import { loadStored } from './loader.ts';
import { bucketStream, inboxPrefix, storeSubject } from './names.ts';
import { fromNats } from './nats-transport.ts';

const REQUEST_MS = 5_000;

/** What the store holds last under one subject. */
export interface StoredFact {
  readonly subject: string;
  /** The owning instance, with the epoch of its life and its own counter. */
  readonly source: string;
  readonly epoch: number;
  readonly version: number;
  /** When it was published, milliseconds since the Unix epoch. */
  readonly time: number;
  /** Position in the stream. */
  readonly seq: number;
  readonly removed: boolean;
}

/**
 * The marks of removed facts that nobody needs any more: after each of them its owner has stored a mark of its complete
 * set, from which a reader that comes later learns the same. A mark without that stays, however old: readers would wait
 * for its key.
 *
 * @param before milliseconds since the Unix epoch; younger marks are left to readers that are loading just now.
 */
export function voidMarks(stored: readonly StoredFact[], before: number): StoredFact[] {
  const latest = new Map(stored.map((fact) => [fact.subject, fact]));
  return stored.filter((mark) => {
    if (!mark.removed || mark.time >= before) return false;
    const prefix = mark.subject.slice(0, mark.subject.lastIndexOf('.'));
    const complete = latest.get(`${prefix}.${COMPLETE}.${encodeToken(mark.source)}`);
    if (complete === undefined) return false;
    return complete.epoch > mark.epoch || (complete.epoch === mark.epoch && complete.version > mark.version);
  });
}

/**
 * Takes out of the store the marks of removed facts that nobody needs any more (see {@link voidMarks}); they would stay
 * for ever. Only the launcher's identity may. Returns how many there were.
 */
export async function purgeRemovalMarks(options: {
  connection: NatsConnection;
  node: string;
  instance: string;
  /** Marks stored before are taken; milliseconds since the Unix epoch. */
  before: number;
  /** A token that nobody else uses. */
  id: string;
}): Promise<number> {
  const { connection, node, instance, before, id } = options;
  const stored: StoredFact[] = [];
  const { loaded } = loadStored({
    connection,
    stream: bucketStream(node),
    filter: storeSubject(node, '>'),
    what: 'last',
    inbox: `${inboxPrefix(instance)}.marks.${id}`,
    name: `marks-${instance}-${id}`,
    timeoutMs: REQUEST_MS,
    onMessage: (message) => void stored.push(storedFact(message)),
  });
  await loaded;
  const marks = voidMarks(stored, before);
  for (const { subject, seq } of marks) {
    // `seq` is the first that stays: a value stored under the same key since then.
    const request = JSON.stringify({ filter: subject, seq: seq + 1 });
    await connection.request(`$JS.API.STREAM.PURGE.${bucketStream(node)}`, request, { timeout: REQUEST_MS });
  }
  return marks.length;
}

function storedFact(message: Msg): StoredFact {
  const { subject, headers } = fromNats(message);
  const { source, epoch, time } = decodeEnvelope(headers);
  return {
    subject,
    source,
    epoch,
    version: Number(headers[HEADER.version]),
    time: Date.parse(time),
    seq: positionOf(message.reply ?? ''),
    removed: headers[HEADER.removed] !== undefined,
  };
}

/**
 * The position in the stream, from the subject for acknowledgements (ADR-15): `$JS.ACK.STREAM.CONSUMER.COUNT.POSITION` and
 * three more; newer servers put two before the stream.
 */
function positionOf(reply: string): number {
  const tokens = reply.split('.');
  const position = Number(tokens[tokens.length === 9 ? 5 : 7]);
  // Without it a purge would take a value that was stored since.
  if (!Number.isSafeInteger(position)) throw new KubusError('bad-delivery', `"${reply}" has no position in the stream`);
  return position;
}
