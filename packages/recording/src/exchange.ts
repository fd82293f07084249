import { chmodSync, renameSync, rmSync } from 'node:fs';
import { toError } from '@kubus/ports';
import { RecordingError } from './recording-error.ts';
import {
  checkContent,
  checkPaths,
  firstKind,
  openDatabase,
  readMeta,
  readMetaNumber,
  versionOf,
  writeMeta,
} from './schema.ts';
import { upgradeRecording } from './upgrade.ts';

/**
 * Writes a recording, also one that grows, as one file to another place; what was there is replaced as a whole.
 *
 * @param name as which the file calls itself.
 * @throws RecordingError that names the file.
 */
export function exportRecording(from: string, to: string, { name, at }: { name: string; at: number }): void {
  const part = `${to}.new`;
  rmSync(part, { force: true });
  try {
    const database = openDatabase(from, { readOnly: true });
    try {
      database.prepare('VACUUM INTO ?').run(part);
    } finally {
      database.close();
    }
    const copy = openDatabase(part, { readOnly: false });
    try {
      const ended = readMetaNumber(copy, 'ended') ?? at;
      writeMeta(copy, { name, state: 'complete', ended });
    } finally {
      copy.close();
    }
    chmodSync(part, 0o600);
    renameSync(part, to);
  } catch (error) {
    rmSync(part, { force: true });
    if (error instanceof RecordingError) throw error;
    const message = `${to}: can not be written: ${toError(error).message}`;
    throw new RecordingError('not-written', message, { cause: error, context: { path: to } });
  }
}

/**
 * Takes a file in as a recording of that name, when it is one and nothing in it is damaged; one of the first version is
 * written anew. The file that was given goes.
 *
 * @throws RecordingError that says what is wrong; nothing has changed then but that the given file is gone.
 */
export function importRecording(given: string, to: string, { name }: { name: string }): void {
  const anew = `${given}.anew`;
  try {
    const isFirst = versionOf(given) === firstKind.version;
    if (isFirst) upgradeRecording(given, anew);
    const path = isFirst ? anew : given;
    const database = openDatabase(path, { readOnly: false });
    try {
      checkContent(database, path);
      checkPaths(database, path);
      readMeta(database, path);
      writeMeta(database, { name, state: 'imported' });
      database.exec('PRAGMA journal_mode = DELETE');
    } finally {
      database.close();
    }
    renameSync(path, to);
  } finally {
    for (const path of [given, anew]) {
      for (const end of ['', '-wal', '-shm', '-journal']) rmSync(`${path}${end}`, { force: true });
    }
  }
}

/**
 * Makes a recording that has ended one file: its journal is put into it and goes. Waits a while for those who read it.
 *
 * @throws an error of SQLite when somebody reads it all the time; it is whole then, and two files more lie beside it.
 */
export function sealRecording(path: string): void {
  const database = openDatabase(path, { readOnly: false });
  try {
    database.exec('PRAGMA journal_mode = DELETE');
  } finally {
    database.close();
  }
}
