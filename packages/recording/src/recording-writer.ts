import { serviceOf, type StoredMessage } from '@kubus/causality';
import type { DatabaseSync, StatementSync } from 'node:sqlite';
import { type Stamp, stampOf } from './message-row.ts';
import { type PodStory, continued, untoldStory } from './pod-story.ts';
import { Retention, type RetentionLimits } from './retention.ts';
import { RunningNumbers } from './running-numbers.ts';
import {
  type Meta,
  NO_SERVICE,
  SLOT_MS,
  createDatabase,
  openDatabase,
  readMeta,
  readMetaNumber,
  writeMeta,
} from './schema.ts';

/** From which sequence on the messages are those of another life of the broker; see {@link RecordingWriter.append}. */
export interface BrokerLife {
  /** Sequence in the recording of the first message, and what the broker calls it. */
  readonly first: number;
  readonly broker: number;
  /** When the broker made its stream, as it says itself. */
  readonly created: string;
}

interface Pod {
  readonly id: number;
  story: PodStory;
  messages: number;
  firstAt: number;
  lastAt: number;
}

const REMEMBERED_PODS = 2_000;

/** A first message that took longer to its place is one of before that was published again; milliseconds. */
const ON_THE_WAY_MS = 1_000;

/** Writes one recording. Every call is synchronous and one transaction: what has returned survives the process. */
export class RecordingWriter {
  readonly path: string;
  readonly #database: DatabaseSync;
  readonly #numbers: RunningNumbers;
  readonly #retention: Retention;
  readonly #sql: Statements;
  readonly #types = new Map<string, number>();
  readonly #pods = new Map<string, Pod>();
  /** Pods with something that is not written yet, and messages of each slot that are not. */
  readonly #changed = new Set<Pod>();
  readonly #slots = new Map<string, number>();
  #last: number | undefined;
  /** Since when a message's running number has to follow the one before. */
  #began: number;
  readonly #meta: Meta;

  /**
   * Begins a recording in a file that is not there yet.
   *
   * @param after the sequence after which it begins: what is missing from there on counts as dropped. Left out: it begins
   * with its first message.
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

  /** Goes on with a recording that an earlier process began. */
  static open(path: string): RecordingWriter {
    return new RecordingWriter(path, openDatabase(path, { readOnly: false }));
  }

  private constructor(path: string, database: DatabaseSync) {
    this.path = path;
    this.#database = database;
    this.#meta = readMeta(database, path);
    this.#numbers = new RunningNumbers(database, serviceOf);
    this.#retention = new Retention(database);
    this.#sql = prepare(database);
    this.#last = readMetaNumber(database, 'last');
    this.#began = readMetaNumber(database, 'firstMessage') ?? Number.NaN;
  }

  get meta(): Meta {
    return this.#meta;
  }

  /** The sequence of the newest message, or the one after which the recording begins. */
  get last(): number | undefined {
    return this.#last;
  }

  /** The broker's lives, the newest one first. */
  lives(): BrokerLife[] {
    return this.#sql.lives.all().map(({ first, broker, created }) => ({
      ...{ first: Number(first), broker: Number(broker), created: String(created) },
    }));
  }

  /** Bytes that the messages take; less than the file when something was dropped. */
  get bytes(): number {
    return this.#retention.bytes;
  }

  /** When the broker stored the message of that sequence, and its subject; undefined when it is not there. */
  find(seq: number): { stored: number; subject: string } | undefined {
    const row = this.#sql.find.get(seq);
    return row && { stored: Number(row['stored']), subject: String(row['subject']) };
  }

  /**
   * Adds messages in the order of their sequences, in one transaction. Those that it has already are passed over; a
   * sequence that is left out counts as dropped by the broker.
   *
   * @param life the messages are the first of another life of the broker.
   */
  append(batch: readonly StoredMessage[], life?: BrokerLife): void {
    this.#transaction(() => {
      if (life !== undefined) this.#sql.addLife.run(life.first, life.broker, life.created);
      for (const stored of batch) this.#add(stored);
      this.#save();
    });
  }

  /** Drops the oldest messages until the rest is within the limits. Returns how many. */
  dropOldest(limits: RetentionLimits): number {
    return this.#transaction(() => {
      const dropped = this.#retention.apply(limits);
      if (dropped > 0) this.#pods.clear();
      return dropped;
    });
  }

  /** Ends the recording: its file is one file then. */
  finish(ended: number): void {
    this.#transaction(() => writeMeta(this.#database, { ended, state: 'complete' }));
    this.#database.exec('PRAGMA wal_checkpoint(TRUNCATE)');
    this.#database.exec('PRAGMA journal_mode = DELETE');
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
      this.#sql.addMessage.run(seq, stored.stored, stored.stored, null, null, null, null);
    } else this.#addStamped(stored, stamp);
    this.#sql.addBody.run(seq, message.subject, JSON.stringify(message.headers), message.data);
  }

  #addStamped({ seq, stored, message: { headers, data } }: StoredMessage, stamp: Stamp): void {
    const { source, epoch, number, type, kind, at, causes } = stamp;
    const speaker = this.#numbers.speaker(source, epoch);
    this.#numbers.came(speaker, number, at >= this.#began);
    const pod = stamp.pod === undefined ? undefined : this.#pod(stamp.pod, at);
    if (pod !== undefined) {
      pod.story = continued(pod.story, { type, headers, data, at });
      pod.messages += 1;
      pod.firstAt = Math.min(pod.firstAt, at);
      pod.lastAt = Math.max(pod.lastAt, at);
      this.#changed.add(pod);
    }
    this.#count(at, speaker.service);
    this.#sql.addMessage.run(seq, stored, at, speaker.id, number, this.#type(type, kind), pod?.id ?? null);
    for (const cause of causes) {
      this.#sql.addCause.run(this.#numbers.speaker(cause.source, cause.epoch).id, cause.number, seq);
    }
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
        ? { ...{ messages: 0, firstAt: at, lastAt: at, story: untoldStory }, id: this.#newPod(uid, at) }
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
    return Number(this.#sql.addPod.run(uid, at, at, JSON.stringify(untoldStory)).lastInsertRowid);
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
    this.#changed.clear();
    this.#slots.clear();
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
      // SQLite has undone it already where the disk was full.
      if (this.#database.isTransaction) this.#database.exec('ROLLBACK');
      this.#last = last;
      this.#began = began;
      this.#numbers.forget();
      for (const cache of [this.#types, this.#pods, this.#changed, this.#slots]) cache.clear();
      throw error;
    }
  }
}

type Statements = Readonly<
  Record<
    | 'addMessage'
    | 'addBody'
    | 'addCause'
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
