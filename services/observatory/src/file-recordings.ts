import { type RecordingDocument, recordingNameSchema } from '@kubus/observatory-api';
import { RecordingReader } from '@kubus/recording';
import { createReadStream } from 'node:fs';
import { basename } from 'node:path';
import type { Readable } from 'node:stream';
import { type Recordings, RequestError } from './recordings.ts';

/** Some files, looked at without any node. Nothing changes them. */
export class FileRecordings implements Recordings {
  readonly #readers = new Map<string, RecordingReader>();

  /**
   * Each file has its own name, without `.kubus`, as the recording's; the second of two has a number behind it.
   *
   * @throws RecordingError that names the file that is none.
   */
  constructor(files: readonly string[]) {
    for (const file of files) this.#readers.set(this.#nameFor(file), new RecordingReader(file));
  }

  list(): RecordingDocument[] {
    return [...this.#readers.keys()].map((name) => this.document(name));
  }

  document(name: string): RecordingDocument {
    return { ...this.reader(name).document(), name, state: 'imported' };
  }

  reader(name: string): RecordingReader {
    const reader = this.#readers.get(name);
    if (reader !== undefined) return reader;
    throw new RequestError(404, 'no-recording', `there is no recording "${name}"`);
  }

  file(name: string): Promise<Readable> {
    return Promise.resolve(createReadStream(this.reader(name).path));
  }

  start(): RecordingDocument {
    throw onlyFiles();
  }

  stop(): RecordingDocument {
    throw onlyFiles();
  }

  remove(): void {
    throw onlyFiles();
  }

  take(): Promise<RecordingDocument> {
    return Promise.reject(onlyFiles());
  }

  follow(): () => void {
    throw new RequestError(404, 'no-node', 'there is no running node: these are files');
  }

  close(): void {
    for (const reader of this.#readers.values()) reader.close();
  }

  #nameFor(file: string): string {
    const own = basename(file)
      .replace(/\.kubus$/, '')
      .replaceAll(/[^A-Za-z0-9._-]/g, '_')
      .slice(0, 60);
    const name = recordingNameSchema.safeParse(own).success ? own : 'recording';
    let free = name;
    for (let number = 2; this.#readers.has(free); number++) free = `${name}-${number}`;
    return free;
  }
}

function onlyFiles(): RequestError {
  return new RequestError(405, 'only-files', 'these recordings are files that nothing changes here');
}
