import type { StoredMessage } from '@kubus/bus';
import {
  type Completeness,
  LIVE,
  type LiveTick,
  type RecordingDocument,
  recordingNameSchema,
} from '@kubus/contracts/observatory';
import { type Clock, type Ids, type Logger, toError } from '@kubus/ports';
import { type Meta, RecordingError, RecordingReader, RecordingWriter, isDiskFull } from '@kubus/recording';
import { createReadStream, existsSync, mkdirSync, readdirSync, renameSync, rmSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { LiveTicks } from './live-ticks.ts';
import { Recorder, type RecorderLimits } from './recorder.ts';
import { type Recordings, RequestError } from './recordings.ts';
import { type Threads, documentOf } from './threads.ts';
import { writeLimited } from './write-limited.ts';

/** The ending of a recording's file name. */
const EXTENSION = '.kubus';
/** The endings of the files that lie beside a growing recording. */
const JOURNAL = ['-wal', '-shm'];

export interface NodeRecordingsOptions {
  readonly folder: string;
  readonly node: string;
  /** Version of Kubus. */
  readonly version: string;
  readonly limits: RecorderLimits;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly logger: Logger;
  readonly threads: Threads;
}

/**
 * The recordings of a running node: the live one, those that grow, and those that are complete or were uploaded. They lie in
 * one folder, each as a file; a recording that was growing when the service ended is continued.
 */
export class NodeRecordings implements Recordings {
  readonly recorder: Recorder;
  readonly #options: NodeRecordingsOptions;
  readonly #live: RecordingWriter;
  readonly #ticks: LiveTicks;
  /** Recordings that may have been growing when the service ended, and could not be looked at yet. */
  readonly #waiting: Set<string>;
  readonly #listeners: ((messages: readonly StoredMessage[]) => void)[] = [];

  constructor(options: NodeRecordingsOptions) {
    this.#options = options;
    mkdirSync(join(options.folder, 'recordings'), { recursive: true, mode: 0o700 });
    mkdirSync(this.#incoming, { recursive: true, mode: 0o700 });
    for (const left of readdirSync(this.#incoming)) rmSync(join(this.#incoming, left));
    this.#live = this.#openLive();
    this.#ticks = new LiveTicks(options.clock);
    this.onMessages((messages) => this.#ticks.count(messages));
    const { clock, logger, limits } = options;
    this.recorder = new Recorder({
      ...{ live: this.#live, clock, logger, limits },
      prepare: () => this.#resume(),
      onMessages: (messages) => {
        for (const listener of this.#listeners) listener(messages);
      },
      onFull: (name) => void this.#seal(name),
    });
    this.#waiting = new Set(this.#names());
    try {
      this.#resume();
    } catch (error) {
      logger.error({ err: toError(error) }, 'recordings are continued when there is room on the disk');
    }
  }

  get node(): string {
    return this.#options.node;
  }

  /** Sequence number of the newest message. */
  get last(): number {
    return this.#live.last ?? 0;
  }

  /** Limits of the live recording. */
  get completeness(): Completeness {
    return this.#live.completeness;
  }

  async list(): Promise<RecordingDocument[]> {
    const found = [LIVE, ...this.#names()].map(async (name) => {
      try {
        return [await this.document(name)];
      } catch (error) {
        this.#options.logger.warn({ recording: name, err: toError(error) }, 'a recording cannot be read');
        return [];
      }
    });
    return (await Promise.all(found)).flat();
  }

  async document(name: string): Promise<RecordingDocument> {
    return documentOf(await this.#options.threads.short({ do: 'document', file: this.path(name) }));
  }

  path(name: string): string {
    const path = this.#placeOf(name);
    if (existsSync(path)) return path;
    throw new RequestError(404, 'no-recording', `there is no recording "${name}"`);
  }

  start(name: string): Promise<RecordingDocument> {
    const path = this.#free(name);
    const meta: Meta = { ...this.#meta, name, state: 'recording' };
    const { last } = this.#live;
    try {
      const writer = RecordingWriter.create(path, meta, { contract: '1', ...(last !== undefined && { after: last }) });
      this.recorder.add(name, writer);
    } catch (error) {
      // The name is free again.
      for (const end of ['', ...JOURNAL]) rmSync(`${path}${end}`, { force: true });
      throw isDiskFull(error) ? noRoom(error) : error;
    }
    this.#options.logger.info({ recording: name }, 'recording started');
    return this.document(name);
  }

  async stop(name: string): Promise<RecordingDocument> {
    this.path(name);
    if (this.#finish(name) === undefined) {
      throw new RequestError(409, 'not-recording', `recording "${name}" has ended already`);
    }
    await this.#seal(name);
    this.#options.logger.info({ recording: name }, 'recording ended');
    return this.document(name);
  }

  remove(name: string): void {
    if (name === LIVE) throw new RequestError(409, 'live', `${LIVE} always exists and cannot be changed`);
    const path = this.path(name);
    this.recorder.abandon(name);
    this.#waiting.delete(name);
    for (const end of ['', ...JOURNAL]) rmSync(`${path}${end}`, { force: true });
  }

  async file(name: string): Promise<Readable> {
    const path = this.path(name);
    const { state, began } = metaOf(path);
    const isOneFile = (state === 'complete' || state === 'imported') && !existsSync(`${path}${JOURNAL[0]}`);
    if (isOneFile) return createReadStream(path);
    const part = this.#part();
    const called = name === LIVE ? `${this.node}-${new Date(began).toISOString().slice(0, 10)}` : name;
    const { threads, clock } = this.#options;
    await threads.long({ do: 'export', file: path, to: part, name: called, at: clock.now() });
    const stream = createReadStream(part);
    stream.once('close', () => void rm(part, { force: true }));
    return stream;
  }

  async take(name: string, file: Readable): Promise<RecordingDocument> {
    this.#free(name);
    const [part, checked] = [this.#part(), this.#part()];
    await writeLimited(file, part, this.#options.limits.recordingBytes);
    try {
      await this.#options.threads.long({ do: 'import', file: part, to: checked, name });
      renameSync(checked, this.#free(name));
    } catch (error) {
      if (!(error instanceof RecordingError)) throw error;
      // Users know the file by another name.
      throw new RequestError(400, error.code, error.message.replaceAll(part, 'the file'), error);
    } finally {
      for (const left of [part, checked]) rmSync(left, { force: true });
    }
    return this.document(name);
  }

  follow(listener: (tick: LiveTick) => void): () => void {
    return this.#ticks.follow(listener);
  }

  /** Sends ticks about what has been written into the live recording. */
  onMessages(listener: (messages: readonly StoredMessage[]) => void): void {
    this.#listeners.push(listener);
  }

  /** Growing recordings continue when the service is restarted. */
  close(): void {
    this.#ticks.stop();
    this.recorder.close();
  }

  #finish(name: string): RecordingWriter | undefined {
    try {
      this.#resume();
      return this.recorder.finish(name);
    } catch (error) {
      throw isDiskFull(error) ? noRoom(error) : error;
    }
  }

  get #meta(): Omit<Meta, 'name' | 'state'> {
    const { node, version, clock } = this.#options;
    return { node, version, began: clock.now() };
  }

  get #incoming(): string {
    return join(this.#options.folder, 'incoming');
  }

  #part(): string {
    return join(this.#incoming, this.#options.ids.hex(8));
  }

  /** A live recording that cannot be read is renamed, and a new one is started. */
  #openLive(): RecordingWriter {
    const path = this.#placeOf(LIVE);
    try {
      if (existsSync(path)) return RecordingWriter.open(path);
    } catch (error) {
      if (!(error instanceof RecordingError)) throw error;
      const aside = `${path}.damaged`;
      this.#options.logger.error(
        { err: toError(error), aside },
        'the live recording cannot be read; it is renamed and a new one started',
      );
      for (const end of JOURNAL) rmSync(`${path}${end}`, { force: true });
      renameSync(path, aside);
    }
    return RecordingWriter.create(path, { ...this.#meta, name: LIVE, state: 'live' }, { contract: '1' });
  }

  /** Continues the recordings that were growing. Throws while the disk is full: none of them is to miss a message. */
  #resume(): void {
    for (const name of this.#waiting) {
      try {
        const path = this.path(name);
        if (metaOf(path).state === 'recording') this.recorder.add(name, RecordingWriter.open(path));
      } catch (error) {
        if (isDiskFull(error)) throw error;
        this.#options.logger.error({ recording: name, err: toError(error) }, 'a recording cannot be continued');
      }
      this.#waiting.delete(name);
    }
  }

  #names(): string[] {
    return readdirSync(join(this.#options.folder, 'recordings'))
      .filter((file) => file.endsWith(EXTENSION))
      .map((file) => file.slice(0, -EXTENSION.length))
      .sort();
  }

  #placeOf(name: string): string {
    if (name === LIVE) return join(this.#options.folder, `live${EXTENSION}`);
    const checked = recordingNameSchema.safeParse(name);
    if (checked.success) return join(this.#options.folder, 'recordings', `${checked.data}${EXTENSION}`);
    throw new RequestError(400, 'bad-name', `"${name}" ${checked.error.issues[0]?.message ?? 'is not a name'}`);
  }

  #free(name: string): string {
    const path = this.#placeOf(name);
    if (!existsSync(path)) return path;
    throw new RequestError(409, 'exists', `a recording named "${name}" exists already`);
  }

  /** A recording that has ended becomes one file as soon as no reader has it open. */
  async #seal(name: string): Promise<void> {
    try {
      await this.#options.threads.long({ do: 'seal', file: this.path(name) });
    } catch (error) {
      this.#options.logger.warn(
        { recording: name, err: toError(error) },
        'the journal of a recording cannot be merged into its file',
      );
    }
  }
}

function noRoom(cause: unknown): RequestError {
  return new RequestError(507, 'disk-full', 'the disk of the recordings takes no more: make room on it', cause);
}

function metaOf(path: string): Meta {
  const reader = new RecordingReader(path);
  try {
    return reader.meta;
  } finally {
    reader.close();
  }
}
