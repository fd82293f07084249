import type { KubeObject } from '@kubus/kube-objects';
import { hasErrno, toError } from '@kubus/ports';
import { closeSync, openSync } from 'node:fs';
import { DatabaseSync, type StatementSync } from 'node:sqlite';
import type { SealedObjects } from './sealed-objects.ts';
import { StoreError } from './store-error.ts';
import { type Change, MemoryStore, type Store } from './store.ts';

/** `KAPI` in ASCII: SQLite's application id of the file. */
const APPLICATION_ID = 0x4b415049;
/** Incremented when an older program would misread the file. */
const FILE_VERSION = 1;

/**
 * `changes` has each state of each object by the version that it came with, until the history is compacted; of the states before that, the
 * last one. `object` is JSON, or what {@link SealedObjects} makes of it.
 */
const TABLES = [
  'CREATE TABLE meta (key TEXT PRIMARY KEY, value INTEGER NOT NULL) WITHOUT ROWID',
  'CREATE TABLE changes (version INTEGER PRIMARY KEY, type TEXT NOT NULL, resource TEXT NOT NULL, key TEXT NOT NULL, object BLOB NOT NULL)',
  'CREATE INDEX changes_by_key ON changes (resource, key, version)',
] as const;

/** Changes that are kept for watches and lists that continue; twice as many make the store drop the older half. */
const HISTORY = 1_000;

/** The objects of an API server in one SQLite file: a change is on the disk when it is answered and before watches see it. */
export class SqliteStore implements Store {
  readonly #database: DatabaseSync;
  readonly #memory: MemoryStore;
  readonly #sealed: SealedObjects;
  readonly #insert: StatementSync;
  readonly #keep: number;
  /** Changes in the history at which it is compacted. */
  #compactAt: number;

  /**
   * Opens the file, or creates it with mode 0600.
   *
   * @param keep changes that are kept at least; default: 1,000
   * @throws StoreError `NotAStore`, `OtherVersion`, or `WrongKey` for objects that cannot be opened.
   */
  constructor(path: string, sealed: SealedObjects, keep = HISTORY) {
    this.#sealed = sealed;
    this.#keep = keep;
    this.#compactAt = 2 * keep;
    this.#database = openFile(path);
    try {
      this.#insert = this.#database.prepare('INSERT INTO changes VALUES (?, ?, ?, ?, ?)');
      this.#memory = this.#load();
    } catch (error) {
      this.#database.close();
      throw error;
    }
  }

  get version(): number {
    return this.#memory.version;
  }

  /** Of the pages in use. */
  get sizeBytes(): number {
    const read = (name: string) => Number(this.#database.prepare(`PRAGMA ${name}`).get()?.[name]);
    return read('page_count') * read('page_size');
  }

  get(resource: string, key: string): KubeObject | undefined {
    return this.#memory.get(resource, key);
  }

  list(resource: string): KubeObject[] {
    return this.#memory.list(resource);
  }

  listAt(resource: string, version: number): KubeObject[] | undefined {
    return this.#memory.listAt(resource, version);
  }

  put(resource: string, key: string, object: KubeObject): KubeObject {
    return this.#memory.put(resource, key, object);
  }

  remove(resource: string, key: string, last: KubeObject): KubeObject {
    return this.#memory.remove(resource, key, last);
  }

  changesAfter(resource: string, version: number): Change[] | undefined {
    return this.#memory.changesAfter(resource, version);
  }

  compact(): void {
    this.#compactTo(this.#memory.version);
  }

  follow(listener: (change: Change) => void): () => void {
    return this.#memory.follow(listener);
  }

  close(): void {
    this.#database.close();
  }

  /** Before the change is visible to anyone. @throws StoreError `DiskFull`, `WriteFailed`: then nothing has changed. */
  #write({ version, type, resource, key, object }: Change): void {
    try {
      this.#insert.run(version, type, resource, key, this.#sealed.close(resource, object));
    } catch (error) {
      throw writeError(error);
    }
    if (this.#memory.history <= this.#compactAt) return;
    try {
      this.#compactTo(version - this.#keep);
      this.#compactAt = 2 * this.#keep;
    } catch {
      // The change is stored. A disk without space for the compaction gets another try after as many changes.
      this.#compactAt = this.#memory.history + this.#keep;
    }
  }

  #compactTo(version: number): void {
    const older = 'older.resource = changes.resource AND older.key = changes.key AND older.version > changes.version';
    const superseded = `EXISTS (SELECT 1 FROM changes AS older WHERE ${older} AND older.version <= ?)`;
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
    this.#memory.compactTo(version);
  }

  #load(): MemoryStore {
    const row = this.#database.prepare("SELECT value FROM meta WHERE key = 'compacted'").get();
    const compacted = Number(row?.['value'] ?? 1);
    const rows = this.#database.prepare('SELECT version, type, resource, key, object FROM changes ORDER BY version');
    const changes = function* (sealed: SealedObjects): Generator<Omit<Change, 'previous'>> {
      for (const { version, type, resource, key, object } of rows.iterate()) {
        yield {
          version: Number(version),
          type: type as Change['type'],
          resource: String(resource),
          key: String(key),
          object: sealed.open(String(resource), object as Uint8Array),
        };
      }
    };
    return MemoryStore.from(compacted, changes(this.#sealed), (change) => this.#write(change));
  }
}

function openFile(path: string): DatabaseSync {
  const isNew = createFile(path);
  let database: DatabaseSync | undefined;
  try {
    database = new DatabaseSync(path, { defensive: true, allowExtension: false });
    database.exec('PRAGMA trusted_schema = OFF; PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL');
    const pragma = (name: string) => Number(database?.prepare(`PRAGMA ${name}`).get()?.[name]);
    // A file whose creation was interrupted is empty.
    if (isNew || (pragma('application_id') === 0 && pragma('schema_version') === 0)) {
      const kind = `PRAGMA application_id = ${APPLICATION_ID}; PRAGMA user_version = ${FILE_VERSION}`;
      database.exec(`BEGIN; ${TABLES.join(';')}; ${kind}; COMMIT`);
    }
    if (pragma('application_id') !== APPLICATION_ID) {
      throw new StoreError('NotAStore', `${path}: is no file of objects of Kubus`, { context: { path } });
    }
    const version = pragma('user_version');
    if (version !== FILE_VERSION) {
      const message = `${path}: has version ${version}; this Kubus reads version ${FILE_VERSION}: use the Kubus that wrote it, or remove the node`;
      throw new StoreError('OtherVersion', message, { context: { path, version } });
    }
    return database;
  } catch (error) {
    database?.close();
    if (error instanceof StoreError) throw error;
    const message = `${path}: cannot be read (${toError(error).message})`;
    throw new StoreError('NotAStore', message, { cause: error, context: { path } });
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

/** SQLite creates its other files with the mode of this one. @returns whether it did not exist. */
function createFile(path: string): boolean {
  try {
    closeSync(openSync(path, 'wx', 0o600));
    return true;
  } catch (error) {
    if (hasErrno(error, 'EEXIST')) return false;
    throw error;
  }
}
