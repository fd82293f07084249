import { type RecordingDocument, recordingNameSchema } from '@kubus/observatory-api';
import { RecordingReader } from '@kubus/recording';
import { createReadStream } from 'node:fs';
import { basename } from 'node:path';
import type { Readable } from 'node:stream';
import { type Recordings, RequestError } from './recordings.ts';
import { type Threads, documentOf } from './threads.ts';

/** Some files, looked at without any node. Nothing changes them. */
export class FileRecordings implements Recordings {
  readonly #files = new Map<string, string>();
  readonly #threads: Threads;

  /**
   * Each file has its own name, without `.kubus`, as the recording's; the second of two has a number behind it.
   *
   * @throws RecordingError that names the file that is none.
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
    throw new RequestError(404, 'no-node', 'there is no running node: these are files');
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
  return new RequestError(405, 'only-files', 'these recordings are files that nothing changes here');
}
