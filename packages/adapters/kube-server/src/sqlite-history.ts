import type { DatabaseSync, StatementSync } from 'node:sqlite';
import { toError } from '@kubus/ports';
import type { SealedObjects } from './sealed-objects.ts';
import { StoreError } from './store-error.ts';
import type { Change, History } from './store.ts';

/**
 * `changes` has each state of each object by the version that it came with, until the history is compacted; of the states before that, the
 * last one. `object` is JSON, or what {@link SealedObjects} makes of it.
 */
export const TABLES = [
  'CREATE TABLE meta (key TEXT PRIMARY KEY, value INTEGER NOT NULL) WITHOUT ROWID',
  'CREATE TABLE changes (version INTEGER PRIMARY KEY, type TEXT NOT NULL, resource TEXT NOT NULL, key TEXT NOT NULL, object BLOB NOT NULL)',
  'CREATE INDEX changes_by_key ON changes (resource, key, version)',
] as const;

/** Changes that are kept for watches and lists that continue; twice as many make the history drop the older half. */
const HISTORY = 1_000;

type Row = Omit<Change, 'previous'>;

/** The changes of objects in a SQLite file with {@link TABLES}. */
export class SqliteHistory implements History {
  readonly #database: DatabaseSync;
  readonly #sealed: SealedObjects;
  readonly #keep: number;
  readonly #insert: StatementSync;
  readonly #after: StatementSync;
  readonly #before: StatementSync;
  #compacted: number;
  /** Changes since then. */
  #length: number;
  /** The length at which it is compacted. */
  #compactAt: number;

  constructor(database: DatabaseSync, sealed: SealedObjects, keep = HISTORY) {
    this.#database = database;
    this.#sealed = sealed;
    this.#keep = keep;
    this.#compactAt = 2 * keep;
    this.#insert = database.prepare('INSERT INTO changes VALUES (?, ?, ?, ?, ?)');
    this.#after = database.prepare('SELECT * FROM changes WHERE resource = ? AND version > ? ORDER BY version');
    this.#before = database.prepare(
      'SELECT * FROM changes WHERE resource = ? AND key = ? AND version < ? ORDER BY version DESC LIMIT 1',
    );
    const row = database.prepare("SELECT value FROM meta WHERE key = 'compacted'").get();
    this.#compacted = Number(row?.['value'] ?? 1);
    const counted = database.prepare('SELECT count(*) AS length FROM changes WHERE version > ?').get(this.#compacted);
    this.#length = Number(counted?.['length']);
  }

  get compacted(): number {
    return this.#compacted;
  }

  /** The last states before the history, and then each change. @throws StoreError `WrongKey`. */
  *all(): Generator<Row> {
    for (const row of this.#database.prepare('SELECT * FROM changes ORDER BY version').iterate())
      yield this.#opened(row);
  }

  /** @throws StoreError `DiskFull`, `WriteFailed`. */
  append({ version, type, resource, key, object }: Change): void {
    try {
      this.#insert.run(version, type, resource, key, this.#sealed.close(resource, object));
    } catch (error) {
      throw writeError(error);
    }
    this.#length++;
    if (this.#length <= this.#compactAt) return;
    try {
      this.compactTo(version - this.#keep);
      this.#compactAt = 2 * this.#keep;
    } catch {
      // The change is stored. A disk without space for the compaction gets another try after as many changes.
      this.#compactAt = this.#length + this.#keep;
    }
  }

  after(resource: string, version: number): Change[] {
    const states = new Map<string, Row>();
    return this.#after.all(resource, version).map((row) => {
      const change = this.#opened(row);
      const last = states.get(change.key) ?? this.#stateBefore(change);
      states.set(change.key, change);
      return last === undefined || last.type === 'DELETED' ? change : { ...change, previous: last.object };
    });
  }

  compactTo(version: number): void {
    const later = 'later.resource = changes.resource AND later.key = changes.key AND later.version > changes.version';
    const superseded = `EXISTS (SELECT 1 FROM changes AS later WHERE ${later} AND later.version <= ?)`;
    this.#database.exec('BEGIN');
    try {
      this.#database.prepare("REPLACE INTO meta VALUES ('compacted', ?)").run(version);
      this.#database
        .prepare(`DELETE FROM changes WHERE version <= ? AND (type = 'DELETED' OR ${superseded})`)
        .run(version, version);
      this.#database.exec('COMMIT');
    } catch (error) {
      if (this.#database.isTransaction) this.#database.exec('ROLLBACK');
      throw error;
    }
    this.#length -= version - this.#compacted;
    this.#compacted = version;
  }

  #stateBefore({ resource, key, version }: Row): Row | undefined {
    const row = this.#before.get(resource, key, version);
    return row && this.#opened(row);
  }

  #opened({ version, type, resource, key, object }: Readonly<Record<string, unknown>>): Row {
    return {
      version: Number(version),
      type: type as Change['type'],
      resource: String(resource),
      key: String(key),
      object: this.#sealed.open(String(resource), object as Uint8Array),
    };
  }
}

/** SQLite's result code for a disk without space (SQLITE_FULL). */
const FULL = 13;

function writeError(error: unknown): StoreError {
  const isFull = typeof error === 'object' && error !== null && 'errcode' in error && error.errcode === FULL;
  const { message } = toError(error);
  return isFull
    ? new StoreError('DiskFull', `the disk of the objects is full: ${message}`, { cause: error })
    : new StoreError('WriteFailed', `the objects cannot be written: ${message}`, { cause: error });
}
