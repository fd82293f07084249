import { HEADER, type StoredMessage, type WireMessage } from '@kubus/bus';
import { type PodPaths, serviceMap } from '@kubus/causality';
import type {
  Completeness,
  CriticalPath,
  DensityDocument,
  MessageKind,
  PodSummary,
  RecordingDocument,
  ServiceMap,
} from '@kubus/contracts/observatory';
import { toError } from '@kubus/ports';
import type { DatabaseSync, SQLInputValue, SQLOutputValue, StatementSync } from 'node:sqlite';
import { readCompleteness } from './completeness.ts';
import { readDensity } from './density.ts';
import { parseId } from './message-row.ts';
import { readPaths } from './pod-paths.ts';
import { type PodStory, summaryOf } from './pod-story.ts';
import { RecordingError } from './recording-error.ts';
import { type Meta, openDatabase, readMeta } from './schema.ts';
import { readCounts } from './service-map.ts';

/** A filter for messages; absent fields match all. */
export interface MessageFilter {
  /** UID of the pod. */
  readonly pod?: string;
  /** With its version or without. */
  readonly type?: string;
  /** An instance, or a service. */
  readonly source?: string;
  readonly kind?: MessageKind;
  /** When they were published, in milliseconds since the Unix epoch; both ends belong to it. */
  readonly from?: number;
  readonly to?: number;
  /** A sequence number: only later messages. */
  readonly after?: number;
}

/** Number of messages in one chunk of a full read: between two chunks others can write. */
const CHUNK = 500;
/** How many causes without a pod are followed for one pod. */
const MAX_CAUSES = 100_000;

type Row = Record<string, SQLOutputValue>;

/**
 * Reads one recording, also while it grows. Every call is synchronous. A closed reader opens the file again when it is
 * used.
 */
export class RecordingReader {
  readonly path: string;
  #opened: DatabaseSync | undefined;
  readonly #statements = new Map<string, StatementSync>();

  /** Throws a {@link RecordingError} when the file is not a recording. */
  constructor(path: string) {
    this.path = path;
    this.#opened = openDatabase(path, { readOnly: true });
  }

  close(): void {
    this.#opened?.close();
    this.#opened = undefined;
    this.#statements.clear();
  }

  get #database(): DatabaseSync {
    return (this.#opened ??= openDatabase(this.path, { readOnly: true }));
  }

  /** A value that changes when the recording may have changed. */
  get version(): string {
    const state = `SELECT group_concat(value, ' ') AS state FROM meta WHERE key IN ('began', 'ended', 'last')`;
    const oldest = this.#row('SELECT min(seq) AS seq FROM messages')['seq'];
    return `${String(this.#row(state)['state'])} ${String(oldest)}`;
  }

  get meta(): Meta {
    return readMeta(this.#database, this.path);
  }

  document(): RecordingDocument {
    const { first, last } = this.#row(
      'SELECT (SELECT min(at) FROM messages) AS first, (SELECT max(at) FROM messages) AS last',
    );
    const { size } = this.#row('SELECT page_count * page_size AS size FROM pragma_page_count, pragma_page_size');
    return {
      ...this.meta,
      ...(typeof first === 'number' && { firstAt: first }),
      ...(typeof last === 'number' && { lastAt: last }),
      messages: this.count,
      bytes: Number(size),
      completeness: this.completeness(),
    };
  }

  get count(): number {
    return Number(this.#row('SELECT coalesce(sum(messages), 0) AS count FROM slots')['count']);
  }

  completeness(): Completeness {
    return readCompleteness(this.#database);
  }

  /** Every pod that a message is about, in the order of its first message; but for mirrors of static pods, of which nothing runs. */
  pods(): PodSummary[] {
    const sql = "SELECT * FROM pods WHERE story ->> 'mirror' IS NULL ORDER BY first_at";
    return this.#rows(sql).map((row) => this.#summary(row));
  }

  pod(uid: string): PodSummary | undefined {
    const [row] = this.#rows('SELECT * FROM pods WHERE uid = ?', uid);
    return row && this.#summary(row);
  }

  /** Messages in the order of the broker, up to `limit` of them. */
  messages(filter: MessageFilter, limit: number): StoredMessage[] {
    const conditions = ['m.seq > ?'];
    const values: SQLInputValue[] = [filter.after ?? -1];
    const add = (condition: string, ...more: SQLInputValue[]) => {
      conditions.push(condition);
      values.push(...more);
    };
    if (filter.pod !== undefined) add('m.pod = (SELECT id FROM pods WHERE uid = ?)', filter.pod);
    if (filter.type !== undefined) {
      const bare = "m.type IN (SELECT id FROM types WHERE type = ? OR substr(type, 1, instr(type, '/') - 1) = ?)";
      add(bare, filter.type, filter.type);
    }
    if (filter.kind !== undefined) add('+m.type IN (SELECT id FROM types WHERE kind = ?)', filter.kind);
    if (filter.source !== undefined) {
      add('m.speaker IN (SELECT id FROM speakers WHERE source = ? OR service = ?)', filter.source, filter.source);
    }
    if (filter.from !== undefined || filter.to !== undefined) {
      const [from, to] = [filter.from ?? -Number.MAX_VALUE, filter.to ?? Number.MAX_VALUE];
      // Times grow with sequence numbers, except for facts that were published again: the bounds avoid a scan of all others.
      const bounds = 'SELECT min(seq) AS first, max(seq) AS last FROM messages WHERE at BETWEEN ? AND ?';
      const { first = null, last = null } = this.#row(bounds, from, to);
      add('m.seq BETWEEN ? AND ?', first, last);
      add('+m.at BETWEEN ? AND ?', from, to);
    }
    const found = `SELECT m.seq FROM messages m WHERE ${conditions.join(' AND ')} ORDER BY m.seq LIMIT ?`;
    return this.#stored(`WHERE m.seq IN (${found}) ORDER BY m.seq`, ...values, limit);
  }

  /** Every message that matches the filter, in the order of the broker. */
  *all(filter: MessageFilter = {}): Generator<StoredMessage> {
    for (let { after } = filter; ;) {
      const chunk = this.messages({ ...filter, ...(after !== undefined && { after }) }, CHUNK);
      yield* chunk;
      after = chunk.at(-1)?.seq;
      if (chunk.length < CHUNK) return;
    }
  }

  message(seq: number): StoredMessage | undefined {
    return this.#stored('WHERE m.seq = ?', seq)[0];
  }

  /** The message with this id; of a fact that was published again, the first one. */
  messageById(id: string): StoredMessage | undefined {
    const parts = parseId(id);
    if (parts === undefined) return undefined;
    const { source, epoch, number } = parts;
    return this.#stored(`${BY_ID} ORDER BY m.seq LIMIT 1`, source, epoch, number)[0];
  }

  /** The publishers up to a sequence number, with the number of different messages and the first of them. */
  publishers(until: number): { source: string; epoch: number; first: number; published: number }[] {
    return this.#rows(
      `SELECT source, epoch, min(seq) AS first, count(DISTINCT number) AS published
       FROM messages m JOIN speakers s ON s.id = m.speaker WHERE seq <= ? GROUP BY s.id`,
      until,
    ).map(({ source, epoch, first, published }) => ({
      ...{ source: String(source), epoch: Number(epoch), first: Number(first), published: Number(published) },
    }));
  }

  /** The messages that name the message as a cause, up to `limit` of them. */
  effects(seq: number, limit: number): StoredMessage[] {
    return this.#stored(
      `WHERE m.seq IN (SELECT c.effect FROM causes c JOIN messages o ON o.speaker = c.speaker AND o.number = c.number
       WHERE o.seq = ? ORDER BY c.effect LIMIT ?) ORDER BY m.seq`,
      ...[seq, limit],
    );
  }

  /** The messages for the timeline of a pod: its own, and their causes that belong to no pod. */
  podMessages(uid: string): StoredMessage[] {
    const found = new Map<number, StoredMessage>();
    const open = [...this.all({ pod: uid })];
    for (const stored of open) found.set(stored.seq, stored);
    const asked = new Set<string>();
    for (let one = open.pop(); one !== undefined && found.size < MAX_CAUSES; one = open.pop()) {
      for (const id of causesOf(one)) {
        if (asked.has(id)) continue;
        asked.add(id);
        const cause = this.#withoutPod(id);
        if (cause === undefined || found.has(cause.seq)) continue;
        found.set(cause.seq, cause);
        open.push(cause);
      }
    }
    return [...found.values()].sort((a, b) => a.seq - b.seq);
  }

  /** The durations of all completed starts or stops of pods, step by step. */
  paths(what: CriticalPath['what']): Iterable<PodPaths> {
    return readPaths(this.#database, what, this.pods());
  }

  /** How long the last starts of pods took, in milliseconds: up to `limit` of them, without that of the pod `uid`. */
  starts(limit: number, uid: string): number[] {
    const sql = `SELECT w.ms FROM paths w JOIN pods p ON p.id = w.pod WHERE w.what = 'start' AND p.uid <> ?
       ORDER BY p.id DESC LIMIT ?`;
    return this.#rows(sql, uid, limit).map(({ ms }) => Number(ms));
  }

  /** Which service publishes what for which other one. */
  serviceMap(contracts: Parameters<typeof serviceMap>[0]): ServiceMap {
    return serviceMap(contracts, readCounts(this.#database));
  }

  density(buckets: number): DensityDocument {
    return readDensity(this.#database, buckets);
  }

  #withoutPod(id: string): StoredMessage | undefined {
    const parts = parseId(id);
    if (parts === undefined) return undefined;
    const { source, epoch, number } = parts;
    return this.#stored(`${BY_ID} AND m.pod IS NULL ORDER BY m.seq LIMIT 1`, source, epoch, number)[0];
  }

  #summary(row: Row): PodSummary {
    const story = JSON.parse(String(row['story'])) as PodStory;
    const [firstAt, lastAt, messages] = [Number(row['first_at']), Number(row['last_at']), Number(row['messages'])];
    return summaryOf(story, { uid: String(row['uid']), firstAt, lastAt, messages });
  }

  #stored(where: string, ...values: SQLInputValue[]): StoredMessage[] {
    const sql = `SELECT m.seq, m.stored, b.subject, b.headers, b.data FROM messages m JOIN bodies b USING (seq) ${where}`;
    return this.#rows(sql, ...values).map((row) => {
      const message: WireMessage = {
        subject: String(row['subject']),
        headers: this.#headers(row),
        data: String(row['data']),
      };
      return { seq: Number(row['seq']), stored: Number(row['stored']), message };
    });
  }

  #headers({ seq, headers }: Row): Record<string, string> {
    const value: unknown = JSON.parse(String(headers));
    if (typeof value === 'object' && value !== null && Object.values(value).every((one) => typeof one === 'string')) {
      return value as Record<string, string>;
    }
    throw this.#damaged(`message ${String(seq)} has invalid headers`);
  }

  #row(sql: string, ...values: SQLInputValue[]): Row {
    return this.#rows(sql, ...values)[0] ?? {};
  }

  #rows(sql: string, ...values: SQLInputValue[]): Row[] {
    const prepared = this.#statements.get(sql) ?? this.#database.prepare(sql);
    this.#statements.set(sql, prepared);
    try {
      return prepared.all(...values);
    } catch (error) {
      throw this.#damaged(`cannot be read: ${toError(error).message}`, error);
    }
  }

  #damaged(what: string, cause?: unknown): RecordingError {
    return new RecordingError('damaged', `${this.path}: ${what}`, { cause, context: { path: this.path } });
  }
}

const BY_ID = 'WHERE m.speaker = (SELECT id FROM speakers WHERE source = ? AND epoch = ?) AND m.number = ?';

function causesOf({ message: { headers } }: StoredMessage): string[] {
  const text = headers[HEADER.causes];
  return text === undefined || text === '' ? [] : text.split(',');
}
