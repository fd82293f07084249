import { type RecordingDocument, recordingNameSchema } from '@kubus/contracts/observatory';
import { RecordingReader } from '@kubus/recording';
import { createReadStream } from 'node:fs';
import { basename } from 'node:path';
import type { Readable } from 'node:stream';
import { type Recordings, RequestError } from './recordings.ts';
import { type Threads, documentOf } from './threads.ts';

/** Recordings that are read from files, without a node. Nothing changes them. */
export class FileRecordings implements Recordings {
  readonly #files = new Map<string, string>();
  readonly #threads: Threads;

  /**
   * Each recording is named after its file, without `.kubus`; a second one of the same name gets a number after it.
   *
   * @throws RecordingError that names the file that is not a recording.
   */
  constructor(files: readonly string[], threads: Threads) {
    this.#threads = threads;
    for (const file of files) {
      new RecordingReader(file).close();
      this.#files.set(this.#nameFor(file), file);
    }
  }

  list(): Promise<RecordingDocument[]> {
    return Promise.all([...this.#files.keys()].map((name) => this.document(name)));
  }

  async document(name: string): Promise<RecordingDocument> {
    const text = await this.#threads.short({ do: 'document', file: this.path(name) });
    return { ...documentOf<RecordingDocument>(text), name, state: 'imported' };
  }

  path(name: string): string {
    const file = this.#files.get(name);
    if (file !== undefined) return file;
    throw new RequestError(404, 'no-recording', `there is no recording "${name}"`);
  }

  file(name: string): Promise<Readable> {
    return Promise.resolve(createReadStream(this.path(name)));
  }

  start(): Promise<RecordingDocument> {
    return Promise.reject(onlyFiles());
  }

  stop(): Promise<RecordingDocument> {
    return Promise.reject(onlyFiles());
  }

  remove(): void {
    throw onlyFiles();
  }

  take(): Promise<RecordingDocument> {
    return Promise.reject(onlyFiles());
  }

  follow(): () => void {
    throw new RequestError(404, 'no-node', 'there is no running node: these recordings are files');
  }

  #nameFor(file: string): string {
    const own = basename(file)
      .replace(/\.kubus$/, '')
      .replaceAll(/[^A-Za-z0-9._-]/g, '_')
      .slice(0, 60);
    const name = recordingNameSchema.safeParse(own).success ? own : 'recording';
    let free = name;
    for (let number = 2; this.#files.has(free); number++) free = `${name}-${number}`;
    return free;
  }
}

function onlyFiles(): RequestError {
  return new RequestError(405, 'only-files', 'these recordings are files and cannot be changed here');
}
