import { HEADER, type StoredMessage, parseTime } from '@kubus/bus';
import { serviceOf } from '@kubus/causality';
import type { Completeness } from '@kubus/contracts/observatory';
import type { DatabaseSync, StatementSync } from 'node:sqlite';
import { readCompleteness } from './completeness.ts';
import { type MessageId, type Stamp, parseId, stampOf } from './message-row.ts';
import { PathTracer } from './pod-paths.ts';
import { type PodStory, continued, emptyStory } from './pod-story.ts';
import { Retention, type RetentionLimits } from './retention.ts';
import { RunningNumbers, type RecordedPublisher } from './running-numbers.ts';
import {
  type Meta,
  NO_SERVICE,
  NO_TYPE,
  SLOT_MS,
  createDatabase,
  openDatabase,
  readMeta,
  readMetaNumber,
  writeMeta,
} from './schema.ts';
import { MessageCounts } from './message-counts.ts';

/** The sequence number from which on the messages are from another run of the broker; see {@link RecordingWriter.append}. */
export interface BrokerLife {
  /** Sequence number of the first message in the recording, and in the broker. */
  readonly first: number;
  readonly broker: number;
  /** When the broker made its stream, as the broker reports it. */
  readonly created: string;
}

interface Pod {
  readonly id: number;
  story: PodStory;
  messages: number;
  firstAt: number;
  lastAt: number;
}

/** Where a message belongs. */
interface StampedMessage {
  readonly stamp: Stamp;
  readonly publisher: RecordedPublisher;
  readonly typeId: number;
  readonly pod: Pod | undefined;
}

const REMEMBERED_PODS = 2_000;

/** A first message that was stored later than this is an older one that was published again; milliseconds. */
const ON_THE_WAY_MS = 1_000;

/** Writes one recording. Every call is synchronous and one transaction: its result survives a crash of the process. */
export class RecordingWriter {
  readonly path: string;
  readonly #database: DatabaseSync;
  readonly #numbers: RunningNumbers;
  readonly #retention: Retention;
  readonly #counts: MessageCounts;
  readonly #tracer: PathTracer;
  readonly #sql: Statements;
  readonly #types = new Map<string, number>();
  readonly #pods = new Map<string, Pod>();
  /** Pods with unwritten changes, pods whose paths have to be computed, and messages of each slot. */
  readonly #changed = new Set<Pod>();
  readonly #untraced = new Set<Pod>();
  readonly #slots = new Map<string, number>();
  #last: number | undefined;
  /** Since when sequence numbers of messages must be consecutive. */
  #began: number;
  readonly #meta: Meta;

  /**
   * Starts a recording in a new file.
   *
   * @param after the sequence number after which it starts: missing messages from there on count as dropped. Default: it
   * starts with its first message.
   */
  static create(path: string, meta: Meta, options: { contract: string; after?: number }): RecordingWriter {
    const database = createDatabase(path);
    try {
      const { ended, ...values } = meta;
      writeMeta(database, { ...values, contract: options.contract });
      if (ended !== undefined) writeMeta(database, { ended });
      if (options.after !== undefined) writeMeta(database, { last: options.after });
      return new RecordingWriter(path, database);
    } catch (error) {
      database.close();
      throw error;
    }
  }

  /** Continues a recording that an earlier process started. */
  static open(path: string): RecordingWriter {
    return new RecordingWriter(path, openDatabase(path, { readOnly: false }));
  }

  private constructor(path: string, database: DatabaseSync) {
    this.path = path;
    this.#database = database;
    this.#meta = readMeta(database, path);
    this.#numbers = new RunningNumbers(database, serviceOf);
    this.#counts = new MessageCounts(database);
    this.#retention = new Retention(database, this.#counts);
    this.#tracer = new PathTracer(database);
    this.#sql = prepare(database);
    this.#last = readMetaNumber(database, 'last');
    this.#began = readMetaNumber(database, 'firstMessage') ?? Number.NaN;
  }

  get meta(): Meta {
    return this.#meta;
  }

  /** The sequence number of the newest message, or the one after which the recording starts. */
  get last(): number | undefined {
    return this.#last;
  }

  /** The runs of the broker, newest first. */
  lives(): BrokerLife[] {
    return this.#sql.lives.all().map(({ first, broker, created }) => ({
      ...{ first: Number(first), broker: Number(broker), created: String(created) },
    }));
  }

  /** Size of the messages in bytes; less than the file if messages were dropped. */
  get bytes(): number {
    return this.#retention.bytes;
  }

  /** When the broker stored the message of that sequence, and its subject; undefined if it does not exist. */
  find(seq: number): { stored: number; subject: string } | undefined {
    const row = this.#sql.find.get(seq);
    return row && { stored: Number(row['stored']), subject: String(row['subject']) };
  }

  /**
   * Adds messages in the order of their sequences, in one transaction. Known messages are skipped; a missing sequence
   * number counts as dropped by the broker.
   *
   * @param life the messages are the first ones of another run of the broker.
   */
  append(batch: readonly StoredMessage[], life?: BrokerLife): void {
    this.#transaction(() => {
      if (life !== undefined) this.#sql.addLife.run(life.first, life.broker, life.created);
      for (const stored of batch) this.#add(stored);
      this.#save();
    });
  }

  /** Drops the oldest messages beyond the limits, not all at once if there are many. Returns how many. */
  dropOldest(limits: RetentionLimits): number {
    return this.#transaction(() => {
      const dropped = this.#retention.apply(limits);
      if (dropped > 0) this.#pods.clear();
      return dropped;
    });
  }

  get completeness(): Completeness {
    return readCompleteness(this.#database);
  }

  /** Ends the recording. `sealRecording` merges the rest of its journal into its file. */
  finish(ended: number): void {
    this.#transaction(() => writeMeta(this.#database, { ended, state: 'complete' }));
    this.close();
  }

  close(): void {
    this.#database.close();
  }

  #add(stored: StoredMessage): void {
    const { seq, message } = stored;
    const { last } = this;
    if (last !== undefined && seq <= last) return;
    if (last !== undefined && seq > last + 1) this.#sql.addHole.run(last + 1, seq - 1);
    this.#last = seq;
    const stamp = stampOf(stored);
    if (Number.isNaN(this.#began)) {
      this.#began = Math.max(stamp?.at ?? 0, stored.stored - ON_THE_WAY_MS);
      writeMeta(this.#database, { firstMessage: this.#began });
    }
    if (stamp === undefined) {
      this.#count(stored.stored, NO_SERVICE);
      this.#counts.countPublished(NO_SERVICE, NO_TYPE);
      this.#sql.addMessage.run(seq, stored.stored, stored.stored, null, null, null, null);
    } else this.#addStamped(stored, stamp);
    this.#sql.addBody.run(seq, message.subject, JSON.stringify(message.headers), message.data);
  }

  #addStamped(wire: StoredMessage, stamp: Stamp): void {
    const { seq, stored } = wire;
    const { source, epoch, number, type, kind, at, causes } = stamp;
    const publisher = this.#numbers.publisher(source, epoch);
    const isNew = number > (publisher.last ?? Infinity) || this.#sql.isThere.get(publisher.id, number) === undefined;
    this.#numbers.came(publisher, { number, at, stored }, at >= this.#began);
    const pod = stamp.pod === undefined ? undefined : this.#pod(stamp.pod, at);
    if (pod !== undefined) {
      pod.messages += 1;
      pod.firstAt = Math.min(pod.firstAt, at);
      pod.lastAt = Math.max(pod.lastAt, at);
      this.#changed.add(pod);
    }
    this.#count(at, publisher.service);
    const typeId = this.#type(type, kind);
    this.#sql.addMessage.run(seq, stored, at, publisher.id, number, typeId, pod?.id ?? null);
    // A fact is stored again after a lost connection; the first time is that of its publication.
    if (isNew) this.#index(wire, { stamp, publisher, typeId, pod });
    for (const cause of causes) {
      this.#sql.addCause.run(this.#numbers.publisher(cause.source, cause.epoch).id, cause.number, seq);
    }
  }

  /** Indexes a new message. */
  #index(wire: StoredMessage, { stamp, publisher, typeId, pod }: StampedMessage): void {
    const { seq, message } = wire;
    const { type, at, number } = stamp;
    this.#counts.countPublished(publisher.service, typeId);
    this.#countReceived(stamp, publisher.service);
    if (pod !== undefined) {
      const { start, stop } = pod.story;
      pod.story = continued(pod.story, { seq, type, headers: message.headers, data: message.data, at });
      if (pod.story.start !== start || pod.story.stop !== stop) this.#untraced.add(pod);
    }
    // The broker may store messages of two services in another order than they were published: handle effects that were
    // stored first.
    for (const { pod: uid, service, headers } of this.#sql.effects.iterate(publisher.id, number)) {
      const { received, causes = '' } = headersOf(String(headers));
      const [first] = causes.split(',', 1).map(parseId);
      if (first === undefined || !isSame(first, stamp)) continue;
      if (typeof uid === 'string') this.#untraced.add(this.#pod(uid, at));
      this.#countReceived(
        { received: received === undefined ? undefined : parseTime(received), causes: [first] },
        String(service),
      );
    }
  }

  /** A message carries when its first cause was received. */
  #countReceived({ received, causes: [first] }: Pick<Stamp, 'received' | 'causes'>, service: string): void {
    if (received === undefined || first === undefined) return;
    const cause = this.#sql.cause.get(this.#numbers.publisher(first.source, first.epoch).id, first.number);
    if (cause === undefined) return;
    const { seq, at, type } = cause;
    this.#counts.countReceived({ seq: Number(seq), at: Number(at), type: Number(type) }, service, received);
  }

  #type(type: string, kind: string): number {
    const key = `${kind} ${type}`;
    const known = this.#types.get(key);
    if (known !== undefined) return known;
    this.#sql.addType.run(type, kind);
    const id = Number(this.#sql.findType.get(type, kind)?.['id']);
    this.#types.set(key, id);
    return id;
  }

  #pod(uid: string, at: number): Pod {
    const known = this.#pods.get(uid);
    if (known !== undefined) return known;
    const row = this.#sql.findPod.get(uid);
    const pod: Pod =
      row === undefined
        ? { ...{ messages: 0, firstAt: at, lastAt: at, story: emptyStory }, id: this.#newPod(uid, at) }
        : {
            id: Number(row['id']),
            messages: Number(row['messages']),
            firstAt: Number(row['first_at']),
            lastAt: Number(row['last_at']),
            story: JSON.parse(String(row['story'])) as PodStory,
          };
    this.#pods.set(uid, pod);
    return pod;
  }

  #newPod(uid: string, at: number): number {
    return Number(this.#sql.addPod.run(uid, at, at, JSON.stringify(emptyStory)).lastInsertRowid);
  }

  #count(at: number, service: string): void {
    const key = `${Math.floor(at / SLOT_MS)} ${service}`;
    this.#slots.set(key, (this.#slots.get(key) ?? 0) + 1);
  }

  #save(): void {
    this.#numbers.save();
    for (const { id, messages, firstAt, lastAt, story } of this.#changed) {
      this.#sql.savePod.run(messages, firstAt, lastAt, JSON.stringify(story), id);
    }
    for (const [key, count] of this.#slots) {
      const blank = key.indexOf(' ');
      this.#sql.addSlot.run(Number(key.slice(0, blank)), key.slice(blank + 1), count);
    }
    this.#counts.save();
    for (const { id, story } of this.#untraced) this.#tracer.trace(id, story);
    for (const waiting of [this.#changed, this.#untraced, this.#slots]) waiting.clear();
    if (this.#pods.size > REMEMBERED_PODS) this.#pods.clear();
    if (this.#last !== undefined) this.#sql.saveLast.run(this.#last);
  }

  #transaction<T>(action: () => T): T {
    const { last } = this;
    const began = this.#began;
    this.#database.exec('BEGIN IMMEDIATE');
    try {
      const result = action();
      this.#database.exec('COMMIT');
      return result;
    } catch (error) {
      // SQLite has already rolled it back if the disk was full.
      if (this.#database.isTransaction) this.#database.exec('ROLLBACK');
      this.#last = last;
      this.#began = began;
      for (const part of [this.#numbers, this.#counts, this.#tracer]) part.forget();
      for (const cache of [this.#types, this.#pods, this.#changed, this.#untraced, this.#slots]) cache.clear();
      throw error;
    }
  }
}

function headersOf(text: string): { received: string | undefined; causes: string | undefined } {
  const headers = JSON.parse(text) as Record<string, string | undefined>;
  return { received: headers[HEADER.received], causes: headers[HEADER.causes] };
}

function isSame(one: MessageId, other: MessageId): boolean {
  return one.source === other.source && one.epoch === other.epoch && one.number === other.number;
}

type Statements = Readonly<
  Record<
    | 'addMessage'
    | 'addBody'
    | 'addCause'
    | 'isThere'
    | 'cause'
    | 'effects'
    | 'addHole'
    | 'addLife'
    | 'lives'
    | 'find'
    | 'addType'
    | 'findType'
    | 'addPod'
    | 'findPod'
    | 'savePod'
    | 'addSlot'
    | 'saveLast',
    StatementSync
  >
>;

function prepare(database: DatabaseSync): Statements {
  return {
    addMessage: database.prepare('INSERT INTO messages VALUES (?, ?, ?, ?, ?, ?, ?)'),
    addBody: database.prepare('INSERT INTO bodies VALUES (?, ?, ?, ?)'),
    addCause: database.prepare('INSERT OR IGNORE INTO causes VALUES (?, ?, ?)'),
    isThere: database.prepare('SELECT 1 FROM messages WHERE speaker = ? AND number = ? LIMIT 1'),
    // The bus time of replies is not counted.
    cause: database.prepare(
      `SELECT seq, at, m.type FROM messages m JOIN types t ON t.id = m.type
       WHERE speaker = ? AND number = ? AND kind <> 'reply' ORDER BY seq LIMIT 1`,
    ),
    effects: database.prepare(
      `SELECT p.uid AS pod, s.service, b.headers FROM causes c JOIN messages m ON m.seq = c.effect
       JOIN bodies b ON b.seq = m.seq JOIN speakers s ON s.id = m.speaker LEFT JOIN pods p ON p.id = m.pod
       WHERE c.speaker = ? AND c.number = ? ORDER BY c.effect`,
    ),
    addHole: database.prepare('INSERT INTO holes VALUES (?, ?)'),
    addLife: database.prepare('INSERT OR REPLACE INTO lives VALUES (?, ?, ?)'),
    lives: database.prepare('SELECT * FROM lives ORDER BY first DESC'),
    find: database.prepare('SELECT stored, subject FROM messages JOIN bodies USING (seq) WHERE seq = ?'),
    addType: database.prepare('INSERT OR IGNORE INTO types (type, kind) VALUES (?, ?)'),
    findType: database.prepare('SELECT id FROM types WHERE type = ? AND kind = ?'),
    addPod: database.prepare('INSERT INTO pods (uid, messages, first_at, last_at, story) VALUES (?, 0, ?, ?, ?)'),
    findPod: database.prepare('SELECT * FROM pods WHERE uid = ?'),
    savePod: database.prepare('UPDATE pods SET messages = ?, first_at = ?, last_at = ?, story = ? WHERE id = ?'),
    saveLast: database.prepare("INSERT OR REPLACE INTO meta (key, value) VALUES ('last', ?)"),
    addSlot: database.prepare(
      'INSERT INTO slots VALUES (?, ?, ?) ON CONFLICT DO UPDATE SET messages = messages + excluded.messages',
    ),
  };
}
