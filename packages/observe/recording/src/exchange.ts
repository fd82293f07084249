import { chmodSync, renameSync, rmSync } from 'node:fs';
import { toError } from '@kubus/ports';
import { RecordingError } from './recording-error.ts';
import {
  checkContent,
  checkPaths,
  firstKind,
  openDatabase,
  readDamaged,
  readMeta,
  readMetaNumber,
  versionOf,
  writeMeta,
} from './schema.ts';
import { upgradeRecording } from './upgrade.ts';

/**
 * Copies a recording, also one that grows, to one file; an existing file is replaced atomically.
 *
 * @param name the name of the recording in the file.
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
    const message = `${to}: cannot be written: ${toError(error).message}`;
    throw new RecordingError('not-written', message, { cause: error, context: { path: to } });
  }
}

/**
 * Imports a file as a recording of that name if it is valid; one of the first version is converted. The given file is
 * removed.
 *
 * @throws RecordingError with the cause; then nothing has changed, except that the given file is removed.
 */
export function importRecording(given: string, to: string, { name }: { name: string }): void {
  const upgraded = `${given}.upgraded`;
  try {
    const isFirst = versionOf(given) === firstKind.version;
    if (isFirst) readDamaged(given, () => upgradeRecording(given, upgraded));
    const path = isFirst ? upgraded : given;
    const database = openDatabase(path, { readOnly: false });
    try {
      readDamaged(path, () => {
        checkContent(database, path);
        checkPaths(database, path);
        readMeta(database, path);
        writeMeta(database, { name, state: 'imported' });
        database.exec('PRAGMA journal_mode = DELETE');
      });
    } finally {
      database.close();
    }
    renameSync(path, to);
  } finally {
    for (const path of [given, upgraded]) {
      for (const end of ['', '-wal', '-shm', '-journal']) rmSync(`${path}${end}`, { force: true });
    }
  }
}

/**
 * Merges the journal of an ended recording into its file. Waits a while for readers.
 *
 * @throws an error of SQLite if it is read all the time; it stays complete, with two more files beside it.
 */
export function sealRecording(path: string): void {
  const database = openDatabase(path, { readOnly: false });
  try {
    database.exec('PRAGMA journal_mode = DELETE');
  } finally {
    database.close();
  }
}
