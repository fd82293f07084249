import type { StoredMessage } from '@kubus/bus';
import type { DatabaseSync } from 'node:sqlite';
import { RecordingWriter } from './recording-writer.ts';
import { checkContent, firstKind, openDatabase, readMeta } from './schema.ts';

/** Number of messages written in one transaction. */
const BATCH = 1_000;

/**
 * Converts a recording of the first version to the current one: every message is read and processed as if it had just
 * arrived.
 *
 * @throws RecordingError with the cause; an unfinished file may be at the target.
 */
export function upgradeRecording(from: string, to: string): void {
  const database = openDatabase(from, { readOnly: true, kind: firstKind });
  try {
    checkContent(database, from);
    const meta = readMeta(database, from);
    const after = beginning(database);
    const writer = RecordingWriter.create(to, meta, { contract: '1', ...(after !== undefined && { after }) });
    try {
      for (const { first, broker, created } of database.prepare('SELECT * FROM lives').iterate()) {
        writer.append([], { first: Number(first), broker: Number(broker), created: String(created) });
      }
      let batch: StoredMessage[] = [];
      for (const stored of messagesOf(database)) {
        if (batch.push(stored) < BATCH) continue;
        writer.append(batch);
        batch = [];
      }
      writer.append(batch);
    } finally {
      writer.close();
    }
  } finally {
    database.close();
  }
}

/** The sequence number after which it started, if messages were missing at its start. */
function beginning(database: DatabaseSync): number | undefined {
  const { hole, message } =
    database
      .prepare('SELECT (SELECT min(first) FROM holes) AS hole, (SELECT min(seq) FROM messages) AS message')
      .get() ?? {};
  return typeof hole === 'number' && typeof message === 'number' && hole < message ? hole - 1 : undefined;
}

function* messagesOf(database: DatabaseSync): Generator<StoredMessage> {
  const rows = database.prepare(
    'SELECT m.seq, stored, subject, headers, data FROM messages m JOIN bodies b USING (seq) ORDER BY m.seq',
  );
  for (const { seq, stored, subject, headers, data } of rows.iterate()) {
    const message = {
      subject: String(subject),
      headers: JSON.parse(String(headers)) as Record<string, string>,
      data: String(data),
    };
    yield { seq: Number(seq), stored: Number(stored), message };
  }
}
