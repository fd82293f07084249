import { isDeepEqual } from '@kubus/pod';
import { DatabaseSync } from 'node:sqlite';
import { closeSync, existsSync, openSync } from 'node:fs';
import { toError } from '@kubus/ports';
import { RecordingError, isDiskFull } from './recording-error.ts';

/** `KUBU` in ASCII: SQLite's application id of the file. */
const APPLICATION_ID = 0x4b554255;
/** Incremented when an older reader would misread the file. */
const FILE_VERSION = 2;

/**
 * `messages` is narrow, so that a scan of a million rows is fast; long columns are in `bodies`. `speakers` are instances
 * with their epochs; together with the sequence number they form a message's id. A speaker that is only named as a cause
 * has no numbers. Until `since` no message of it was received. `gaps` are missing sequence numbers of speakers, `holes`
 * those of the broker.
 *
 * Data of the service map and of the latency of pods is updated with each message. `said`: how many each service has published.
 * `hearings`: how long a message was on the bus until a waiting service received it; `bus` counts them.
 * `paths`: the steps of pods' starts and stops, by their numbers in `steps`.
 */
const TABLES = [
  'CREATE TABLE meta (key TEXT PRIMARY KEY, value) WITHOUT ROWID',
  'CREATE TABLE lives (first INTEGER PRIMARY KEY, broker INTEGER NOT NULL, created TEXT NOT NULL)',
  'CREATE TABLE speakers (id INTEGER PRIMARY KEY, source TEXT NOT NULL, epoch INTEGER NOT NULL, service TEXT NOT NULL, last INTEGER, since REAL, UNIQUE (source, epoch))',
  'CREATE TABLE gaps (speaker INTEGER NOT NULL, first INTEGER NOT NULL, last INTEGER NOT NULL, PRIMARY KEY (speaker, first)) WITHOUT ROWID',
  'CREATE TABLE holes (first INTEGER PRIMARY KEY, last INTEGER NOT NULL)',
  'CREATE TABLE types (id INTEGER PRIMARY KEY, type TEXT NOT NULL, kind TEXT NOT NULL, UNIQUE (type, kind))',
  'CREATE TABLE pods (id INTEGER PRIMARY KEY, uid TEXT NOT NULL UNIQUE, messages INTEGER NOT NULL, first_at REAL NOT NULL, last_at REAL NOT NULL, story TEXT NOT NULL)',
  'CREATE TABLE messages (seq INTEGER PRIMARY KEY, stored REAL NOT NULL, at REAL NOT NULL, speaker INTEGER, number INTEGER, type INTEGER, pod INTEGER)',
  'CREATE TABLE bodies (seq INTEGER PRIMARY KEY, subject TEXT NOT NULL, headers TEXT NOT NULL, data TEXT NOT NULL)',
  'CREATE TABLE causes (speaker INTEGER NOT NULL, number INTEGER NOT NULL, effect INTEGER NOT NULL, PRIMARY KEY (speaker, number, effect)) WITHOUT ROWID',
  'CREATE TABLE slots (slot INTEGER NOT NULL, service TEXT NOT NULL, messages INTEGER NOT NULL, PRIMARY KEY (slot, service)) WITHOUT ROWID',
  'CREATE TABLE said (service TEXT NOT NULL, type INTEGER NOT NULL, messages INTEGER NOT NULL, PRIMARY KEY (service, type)) WITHOUT ROWID',
  'CREATE TABLE hearings (cause INTEGER NOT NULL, service TEXT NOT NULL, us INTEGER NOT NULL, PRIMARY KEY (cause, service)) WITHOUT ROWID',
  'CREATE TABLE bus (type INTEGER NOT NULL, service TEXT NOT NULL, us INTEGER NOT NULL, messages INTEGER NOT NULL, PRIMARY KEY (type, service, us)) WITHOUT ROWID',
  'CREATE TABLE steps (id INTEGER PRIMARY KEY, step TEXT NOT NULL, service TEXT NOT NULL, UNIQUE (step, service))',
  'CREATE TABLE paths (pod INTEGER NOT NULL, what TEXT NOT NULL, ms REAL NOT NULL, steps TEXT NOT NULL, PRIMARY KEY (pod, what)) WITHOUT ROWID',
  'CREATE INDEX messages_by_number ON messages (speaker, number)',
  'CREATE INDEX messages_by_pod ON messages (pod, at) WHERE pod IS NOT NULL',
  'CREATE INDEX messages_by_time ON messages (at)',
  'CREATE INDEX messages_by_type ON messages (type)',
] as const;

/** A version of the file, and its tables. */
export interface FileKind {
  readonly version: number;
  readonly tables: readonly string[];
}

const present: FileKind = { version: FILE_VERSION, tables: TABLES };

/** Without the data of the service map and of the latency. */
export const firstKind: FileKind = {
  version: 1,
  tables: TABLES.filter((sql) => !/^CREATE TABLE (said|hearings|bus|steps|paths) /.test(sql)).map((sql) =>
    sql.replace(', since REAL', ''),
  ),
};

/** Width of one row of `slots`, in milliseconds. */
export const SLOT_MS = 100;

/** The service and type under which messages without a valid envelope are counted. */
export const NO_SERVICE = '';
export const NO_TYPE = 0;

/** Creates an empty recording. Throws if the file exists. */
export function createDatabase(path: string): DatabaseSync {
  if (existsSync(path)) throw new RecordingError('exists', `${path}: already exists`, { context: { path } });
  // The messages of a node are private. SQLite creates its other files with the mode of this one.
  closeSync(openSync(path, 'wx', 0o600));
  const database = new DatabaseSync(path, { timeout: BUSY_MS });
  database.exec(`PRAGMA application_id = ${APPLICATION_ID}; PRAGMA user_version = ${FILE_VERSION}`);
  database.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL');
  database.exec(`BEGIN; ${TABLES.join(';')}; COMMIT`);
  return database;
}

/** Another connection of this process may hold the lock for a moment, in milliseconds. */
const BUSY_MS = 5_000;

/**
 * Opens an existing recording. Only the tables of Kubus are accepted in its schema: a foreign file could otherwise
 * contain triggers and views that run when it is written or read.
 *
 * @throws RecordingError that names the file; SQLite's error when the disk is full, see {@link isDiskFull}.
 */
export function openDatabase(
  path: string,
  { readOnly, kind = present }: { readOnly: boolean; kind?: FileKind },
): DatabaseSync {
  if (!existsSync(path)) throw new RecordingError('not-there', `${path}: does not exist`, { context: { path } });
  const database = new DatabaseSync(path, { readOnly, timeout: BUSY_MS, defensive: true, allowExtension: false });
  try {
    database.exec('PRAGMA trusted_schema = OFF; PRAGMA cell_size_check = ON');
    if (!readOnly) database.exec('PRAGMA synchronous = NORMAL');
    checkKind(database, path, kind);
    return database;
  } catch (error) {
    database.close();
    // A full disk says nothing of the file.
    if (error instanceof RecordingError || isDiskFull(error)) throw error;
    const message = `${path}: is not a recording of Kubus (${toError(error).message})`;
    throw new RecordingError('not-a-recording', message, { cause: error, context: { path } });
  }
}

function checkKind(database: DatabaseSync, path: string, { version: wanted, tables }: FileKind): void {
  const pragma = (name: string) => Number(database.prepare(`PRAGMA ${name}`).get()?.[name]);
  if (pragma('application_id') !== APPLICATION_ID) {
    throw new RecordingError('not-a-recording', `${path}: is not a recording of Kubus`, { context: { path } });
  }
  const version = pragma('user_version');
  if (version !== wanted) {
    const way = version === firstKind.version ? ': kubus record import converts it' : '';
    const message = `${path}: is a recording of version ${version}; this Kubus reads version ${wanted}${way}`;
    throw new RecordingError('other-version', message, { context: { path, version } });
  }
  const rows = database.prepare('SELECT sql FROM sqlite_schema WHERE sql IS NOT NULL').all();
  const found = rows.map(({ sql }) => String(sql)).sort();
  if (!isDeepEqual(found, [...tables].sort())) {
    throw new RecordingError('not-a-recording', `${path}: has other tables than a recording`, { context: { path } });
  }
}

/** The version of a recording; undefined for any other file. */
export function versionOf(path: string): number | undefined {
  if (!existsSync(path)) return undefined;
  const database = new DatabaseSync(path, { readOnly: true, timeout: BUSY_MS, allowExtension: false });
  try {
    const pragma = (name: string) => Number(database.prepare(`PRAGMA ${name}`).get()?.[name]);
    return pragma('application_id') === APPLICATION_ID ? pragma('user_version') : undefined;
  } catch {
    return undefined;
  } finally {
    database.close();
  }
}

/**
 * Reads a file that may be damaged in any way.
 *
 * @throws RecordingError `damaged` for what SQLite says of it; of a full disk, SQLite's own error.
 */
export function readDamaged<T>(path: string, read: () => T): T {
  try {
    return read();
  } catch (error) {
    if (error instanceof RecordingError || isDiskFull(error)) throw error;
    const message = `${path}: is damaged: ${toError(error).message}`;
    throw new RecordingError('damaged', message, { cause: error, context: { path } });
  }
}

/** Reads the whole file. Throws a RecordingError with the damage. */
export function checkContent(database: DatabaseSync, path: string): void {
  const damaged = (what: string) => new RecordingError('damaged', `${path}: ${what}`, { context: { path } });
  const [first] = database.prepare('PRAGMA integrity_check(1)').all();
  const verdict = String(first?.['integrity_check']);
  if (verdict !== 'ok') throw damaged(`is damaged: ${verdict}`);
  const { unread } =
    database.prepare('SELECT count(*) AS unread FROM bodies WHERE NOT json_valid(headers)').get() ?? {};
  if (unread !== 0) throw damaged(`${String(unread)} messages have headers that cannot be read`);
  const { odd } =
    database.prepare('SELECT count(*) AS odd FROM messages LEFT JOIN bodies USING (seq) WHERE subject IS NULL').get() ??
    {};
  if (odd !== 0) throw damaged(`${String(odd)} messages have no body`);
}

/** The same of the paths of pods. */
export function checkPaths(database: DatabaseSync, path: string): void {
  const { lost } = database.prepare('SELECT count(*) AS lost FROM paths WHERE NOT json_valid(steps)').get() ?? {};
  if (lost === 0) return;
  const message = `${path}: ${String(lost)} paths of pods cannot be read`;
  throw new RecordingError('damaged', message, { context: { path } });
}

/** The metadata of a recording. */
export interface Meta {
  readonly name: string;
  readonly node: string;
  /** Version of Kubus. */
  readonly version: string;
  readonly state: 'live' | 'recording' | 'complete' | 'imported';
  /** Milliseconds since the Unix epoch. */
  readonly began: number;
  readonly ended?: number;
}

export function writeMeta(database: DatabaseSync, values: Readonly<Record<string, string | number>>): void {
  const put = database.prepare('INSERT OR REPLACE INTO meta (key, value) VALUES (?, ?)');
  for (const [key, value] of Object.entries(values)) put.run(key, value);
}

export function readMetaNumber(database: DatabaseSync, key: string): number | undefined {
  const value = database.prepare('SELECT value FROM meta WHERE key = ?').get(key)?.['value'];
  return typeof value === 'number' ? value : undefined;
}

/** Throws a RecordingError when something is missing. */
export function readMeta(database: DatabaseSync, path: string): Meta {
  const rows = database.prepare('SELECT key, value FROM meta').all();
  const values = new Map(rows.map(({ key, value }) => [String(key), value]));
  const text = (key: string): string => {
    const value = values.get(key);
    if (typeof value === 'string') return value;
    throw new RecordingError('damaged', `${path}: its meta data has no ${key}`, { context: { path } });
  };
  const state = text('state');
  if (state !== 'live' && state !== 'recording' && state !== 'complete' && state !== 'imported') {
    throw new RecordingError('damaged', `${path}: its state is ${state}`, { context: { path } });
  }
  const ended = values.get('ended');
  return {
    ...{ name: text('name'), node: text('node'), version: text('version'), state },
    began: Number(values.get('began') ?? 0),
    ...(typeof ended === 'number' && { ended }),
  };
}
