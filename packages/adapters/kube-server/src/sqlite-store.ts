import type { KubeObject } from '@kubus/kube-objects';
import { hasErrno, toError } from '@kubus/ports';
import { closeSync, openSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import type { SealedObjects } from './sealed-objects.ts';
import { SqliteHistory, TABLES } from './sqlite-history.ts';
import { StoreError } from './store-error.ts';
import { type Change, MemoryStore, type Store } from './store.ts';

/** `KAPI` in ASCII: SQLite's application id of the file. */
const APPLICATION_ID = 0x4b415049;
/** Incremented when an older program would misread the file. */
const FILE_VERSION = 1;

/**
 * The objects of an API server in one SQLite file: a change is on the disk when it is answered and before watches see it. In memory are the objects as they
 * are now; the history is read from the file.
 */
export class SqliteStore implements Store {
  readonly #database: DatabaseSync;
  readonly #memory: MemoryStore;

  /**
   * Opens the file, or creates it with mode 0600.
   *
   * @param keep changes that are kept at least; default: 1,000
   * @throws StoreError `NotAStore`, `OtherVersion`, or `WrongKey` for objects that cannot be opened.
   */
  constructor(path: string, sealed: SealedObjects, keep?: number) {
    this.#database = openFile(path);
    try {
      const history = new SqliteHistory(this.#database, sealed, keep);
      this.#memory = new MemoryStore(history, history.all());
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
    this.#memory.compact();
  }

  follow(listener: (change: Change) => void): () => void {
    return this.#memory.follow(listener);
  }

  close(): void {
    this.#database.close();
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
