import { RecordingError, RecordingReader } from '@kubus/recording';
import { open } from 'node:fs/promises';
import { UserError } from './user-error.ts';

/** What every file of SQLite begins with. */
const MAGIC = 'SQLite format 3\0';

/** Whether a file is one that `kubus record export` has written, and not lines of JSON. Throws the file's own error. */
export async function isRecording(file: string): Promise<boolean> {
  const handle = await open(file);
  try {
    const { buffer, bytesRead } = await handle.read({ buffer: Buffer.alloc(MAGIC.length), position: 0 });
    return buffer.toString('latin1', 0, bytesRead) === MAGIC;
  } finally {
    await handle.close();
  }
}

/** Gives a recording's reader to `use`, and closes it afterwards. A file that is none is the user's error. */
export async function withRecording<T>(file: string, use: (reader: RecordingReader) => T | Promise<T>): Promise<T> {
  let reader: RecordingReader;
  try {
    reader = new RecordingReader(file);
  } catch (error) {
    throw error instanceof RecordingError ? new UserError(error.message) : error;
  }
  try {
    return await use(reader);
  } finally {
    reader.close();
  }
}
