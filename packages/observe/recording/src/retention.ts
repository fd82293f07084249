import { HEADER } from '@kubus/bus';
import type { DatabaseSync, StatementSync } from 'node:sqlite';
import { parseId } from './message-row.ts';
import { NO_SERVICE, NO_TYPE, SLOT_MS } from './schema.ts';
import type { MessageCounts } from './message-counts.ts';

export interface RetentionLimits {
  /** Messages that the broker stored before are dropped; milliseconds since the Unix epoch. */
  readonly before: number;
  /** Limit of the size of the messages in bytes. */
  readonly maxBytes: number;
}

/** Number of messages that are dropped before the size is checked again. */
const STEP = 500;
/** Limit of messages dropped at once, since nothing else is written meanwhile. */
const MOST = 2_000;
/** The share of the limit to which the size is reduced, so that this is not needed for every message. */
const DOWN_TO = 0.95;

/** Drops the oldest messages of a recording with everything that refers only to them. */
export class Retention {
  readonly #database: DatabaseSync;
  readonly #counts: MessageCounts;
  readonly #size: StatementSync;
  readonly #oldest: StatementSync;
  readonly #message: StatementSync;
  readonly #body: StatementSync;
  readonly #cause: StatementSync;
  readonly #slot: StatementSync;
  readonly #pod: StatementSync;
  readonly #again: StatementSync;

  constructor(database: DatabaseSync, counts: MessageCounts) {
    this.#database = database;
    this.#counts = counts;
    this.#size = database.prepare(
      `SELECT (page_count - freelist_count) * page_size AS bytes
       FROM pragma_page_count, pragma_freelist_count, pragma_page_size`,
    );
    this.#oldest = database.prepare(
      `SELECT m.seq, m.stored, m.at, m.pod, m.type, m.speaker, m.number, s.service, b.headers FROM messages m JOIN bodies b USING (seq)
       LEFT JOIN speakers s ON s.id = m.speaker ORDER BY m.seq LIMIT ${STEP}`,
    );
    this.#message = database.prepare('DELETE FROM messages WHERE seq = ?');
    this.#body = database.prepare('DELETE FROM bodies WHERE seq = ?');
    this.#cause = database.prepare(
      `DELETE FROM causes WHERE effect = ? AND number = ? AND
       speaker = (SELECT id FROM speakers WHERE source = ? AND epoch = ?)`,
    );
    this.#slot = database.prepare('UPDATE slots SET messages = messages - ? WHERE slot = ? AND service = ?');
    this.#pod = database.prepare(
      `UPDATE pods SET messages = messages - ?,
       first_at = coalesce((SELECT min(at) FROM messages WHERE pod = pods.id), last_at) WHERE id = ?`,
    );
    this.#again = database.prepare('SELECT 1 FROM messages WHERE speaker = ? AND number = ? LIMIT 1');
  }

  get bytes(): number {
    return Number(this.#size.get()?.['bytes']);
  }

  /** Within a transaction. Returns how many messages were dropped. */
  apply({ before, maxBytes }: RetentionLimits): number {
    let dropped = 0;
    const tooLarge = this.bytes > maxBytes;
    while (dropped < MOST) {
      const bySize = tooLarge && this.bytes > maxBytes * DOWN_TO;
      const count = this.#dropStep(before, bySize);
      dropped += count;
      if (count < STEP) break;
    }
    this.#counts.save();
    if (dropped > 0) this.#dropAbout();
    return dropped;
  }

  #dropStep(before: number, bySize: boolean): number {
    const oldest = this.#oldest.all();
    const kept = bySize ? -1 : oldest.findIndex(({ stored }) => Number(stored) >= before);
    const rows = kept === -1 ? oldest : oldest.slice(0, kept);
    const slots = new Map<string, number>();
    const pods = new Map<number, number>();
    for (const { seq, at, pod, type, speaker, number, service: publishedBy, headers } of rows) {
      const service = publishedBy === null ? NO_SERVICE : String(publishedBy);
      const slot = `${Math.floor(Number(at) / SLOT_MS)} ${service}`;
      slots.set(slot, (slots.get(slot) ?? 0) + 1);
      if (typeof pod === 'number') pods.set(pod, (pods.get(pod) ?? 0) + 1);
      this.#dropCauses(Number(seq), String(headers));
      this.#message.run(Number(seq));
      this.#body.run(Number(seq));
      this.#counts.drop({ seq: Number(seq), type: Number(type) });
      // A fact that was stored again still has a message.
      if (this.#again.get(speaker ?? null, number ?? null) === undefined) {
        this.#counts.countPublished(service, type === null ? NO_TYPE : Number(type), -1);
      }
    }
    for (const [key, count] of slots) {
      const blank = key.indexOf(' ');
      this.#slot.run(count, Number(key.slice(0, blank)), key.slice(blank + 1));
    }
    for (const [pod, count] of pods) this.#pod.run(count, pod);
    return rows.length;
  }

  #dropCauses(seq: number, headers: string): void {
    const { [HEADER.causes]: causes } = JSON.parse(headers) as Record<string, string | undefined>;
    for (const text of causes?.split(',') ?? []) {
      const id = parseId(text);
      if (id !== undefined) this.#cause.run(seq, id.number, id.source, id.epoch);
    }
  }

  /**
   * Removes everything that refers only to removed messages. The newest message stays in `meta`, so that the next one
   * follows it.
   */
  #dropAbout(): void {
    this.#database.exec(`
      DELETE FROM slots WHERE messages <= 0;
      DELETE FROM pods WHERE messages <= 0;
      DELETE FROM paths WHERE pod NOT IN (SELECT id FROM pods);
      DELETE FROM said WHERE messages <= 0;
      DELETE FROM bus WHERE messages <= 0;
      DELETE FROM holes WHERE last < coalesce((SELECT min(seq) FROM messages), ${Number.MAX_SAFE_INTEGER});
      DELETE FROM gaps WHERE last < coalesce(
        (SELECT min(number) FROM messages WHERE messages.speaker = gaps.speaker), ${Number.MAX_SAFE_INTEGER})`);
  }
}
