import { RecordingError, RecordingReader } from '@kubus/recording';
import { open } from 'node:fs/promises';
import { UserError } from '../user-error.ts';

/** The first bytes of every SQLite file. */
const MAGIC = 'SQLite format 3\0';

/** Whether a file was written by `kubus record export`, as opposed to JSON lines. Throws the error of the file system. */
export async function isRecording(file: string): Promise<boolean> {
  const handle = await open(file);
  try {
    const { buffer, bytesRead } = await handle.read({ buffer: Buffer.alloc(MAGIC.length), position: 0 });
    return buffer.toString('latin1', 0, bytesRead) === MAGIC;
  } finally {
    await handle.close();
  }
}

/** Calls `use` with a reader of the recording and closes it afterwards. Throws a {@link UserError} when the file is not a recording. */
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
