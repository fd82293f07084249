import { HEADER, decodeEnvelope } from '@kubus/bus';
import { COMPLETE, encodeToken } from '@kubus/contracts';
import type { Msg, NatsConnection } from '@nats-io/nats-core';
import { loadStored } from './loader.ts';
import { bucketStream, inboxPrefix, storeSubject } from './names.ts';
import { streamsInstance } from './permissions.ts';
import { storedMessage } from './record.ts';

const REQUEST_MS = 5_000;

/** The last message in the store under one subject. */
export interface StoredFact {
  readonly subject: string;
  /** The owning instance, with its epoch and its own counter. */
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
 * The removal marks that are no longer needed: after each of them its owner has stored a completion mark,
 * which has the same meaning to later readers. A mark without a later completion mark is kept, however old it is: readers would wait
 * for its key.
 *
 * @param before milliseconds since the Unix epoch; newer marks are kept for readers that are loading right now
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
 * Removes the removal marks that are no longer needed from the store (see {@link voidMarks}); otherwise they would stay
 * forever. Only allowed for the identity of the streams. Returns how many were removed.
 */
export async function purgeRemovalMarks(options: {
  connection: NatsConnection;
  node: string;
  /** Marks stored before this time are considered; milliseconds since the Unix epoch. */
  before: number;
  /** A token that is used for nothing else. */
  id: string;
}): Promise<number> {
  const { connection, node, before, id } = options;
  const stored: StoredFact[] = [];
  const { loaded } = loadStored({
    connection,
    api: '$JS.API',
    stream: bucketStream(node),
    filter: storeSubject(node, '>'),
    what: 'last',
    inbox: `${inboxPrefix(streamsInstance)}.marks.${id}`,
    name: `marks-${id}`,
    timeoutMs: REQUEST_MS,
    onMessage: (message) => void stored.push(storedFact(message)),
  });
  await loaded;
  const marks = voidMarks(stored, before);
  for (const { subject, seq } of marks) {
    // `seq` is the first one to keep: a value stored under the same key since then.
    const request = JSON.stringify({ filter: subject, seq: seq + 1 });
    await connection.request(`$JS.API.STREAM.PURGE.${bucketStream(node)}`, request, { timeout: REQUEST_MS });
  }
  return marks.length;
}

function storedFact(wire: Msg): StoredFact {
  const { seq, message } = storedMessage(wire);
  const { subject, headers } = message;
  const { source, epoch, time } = decodeEnvelope(headers);
  return {
    subject,
    source,
    epoch,
    version: Number(headers[HEADER.version]),
    time: Date.parse(time),
    seq,
    removed: headers[HEADER.removed] !== undefined,
  };
}
