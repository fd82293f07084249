import { type ManifestReport, type Pod, podSchema } from '@kubus/contracts';
import { fnv128a } from '@kubus/pod';
import { type Cancel, type Clock, type Logger, type RecordStore, toError } from '@kubus/ports';
import * as z from 'zod';
import { type FileChange, type FileState, failFile, readFile } from './manifest-files.ts';

/** The content of the manifest folder, or the one manifest file. */
export interface FolderListing {
  readonly files: readonly { readonly path: string; readonly text: string }[];
  /** Files that exist and could not be read. */
  readonly errors: readonly { readonly path: string; readonly error: Error }[];
  /** There is no such folder or file. */
  readonly missing: boolean;
  /** Paths of files that were removed and created again since the last read. */
  readonly returned: ReadonlySet<string>;
}

export interface ManifestFolder {
  /** The folder or file, for messages. */
  readonly path: string;
  /** Rejects when the content cannot be determined, which means nothing for any pod. */
  read(): Promise<FolderListing>;
  /** `listener` is called after a possible change; often without an actual one, and in bursts. */
  onChange(listener: () => void): Cancel;
}

interface FileSourceOutput {
  /** Takes all pods that the files define now. */
  set(pods: readonly Pod[]): void;
  /** A file was read, or the folder itself cannot be read. */
  manifest(report: ManifestReport): void;
  manifestGone(path: string): void;
}

export interface FileSourceOptions {
  readonly folder: ManifestFolder;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly node: string;
  /** The pods of each file, so that a restart while a file is invalid ends no pod. */
  readonly records: RecordStore;
  readonly output: FileSourceOutput;
  /** Milliseconds between full reads, since a change may go unnoticed; default: 20,000. */
  readonly fileCheckFrequency?: number | undefined;
}

const FILE_CHECK_FREQUENCY = 20_000;
/** A change is read this many milliseconds after the last one of its burst, ... */
const SETTLE = 5;
/** ... and this many after the first one at the latest. */
const SETTLE_AT_MOST = 100;

/**
 * Milliseconds for which a file that was removed and created again counts as removed at least: readers of the desired
 * pods receive only the newest state, and would miss a shorter removal.
 */
const AWAY = 100;

/** The record of a manifest file, which stays valid when the file becomes invalid. */
export const fileRecordSchema = z.object({ version: z.literal(1), path: z.string(), pods: z.array(podSchema) });
type FileRecord = z.infer<typeof fileRecordSchema>;

/**
 * Static pods from a folder of manifests, or from one manifest file. Reads at the start, after each change and every
 * `fileCheckFrequency`; parses a file only when its text has changed. Files are ordered by name.
 *
 * The pods of a removed file are removed, also when the file is created again at once: moving a manifest out and in
 * restarts its pods (behaviour:mirror-pods, "recreate when file is removed and recreated"). A missing folder is an
 * empty set. A file that has become invalid keeps its pods (see `readFile`), also over a restart of this process; it is
 * reported.
 */
export class FileSource {
  readonly #options: FileSourceOptions;
  #files: ReadonlyMap<string, FileState> = new Map();
  /** The whole set has been passed on once. */
  #complete = false;
  #folderFault = false;
  #reading = false;
  #readAgain = false;
  #stopped = false;
  #firstChange: number | undefined;
  /** When files are read again that were removed for a moment. */
  #returnAt: number | undefined;
  #timer: Cancel = () => undefined;
  #unwatch: Cancel = () => undefined;

  constructor(options: FileSourceOptions) {
    this.#options = options;
  }

  /** Reads for the first time and follows the folder from then on. */
  async start(): Promise<void> {
    this.#unwatch = this.#options.folder.onChange(() => this.#changed());
    this.#reading = true;
    await this.#loadRecords();
    await this.#read();
  }

  stop(): void {
    this.#stopped = true;
    this.#unwatch();
    this.#timer();
  }

  #changed(): void {
    if (this.#stopped) return;
    if (this.#reading) {
      this.#readAgain = true;
      return;
    }
    const now = this.#options.clock.now();
    this.#firstChange ??= now;
    const settled = Math.max(0, Math.min(SETTLE, this.#firstChange + SETTLE_AT_MOST - now));
    this.#readAfter(Math.max(settled, this.#untilReturn(now) ?? 0));
  }

  #readAfter(ms: number): void {
    this.#timer();
    this.#timer = this.#options.clock.after(ms, () => void this.#read());
  }

  #untilReturn(now: number): number | undefined {
    return this.#returnAt && this.#returnAt - now;
  }

  /** One full read. Never rejects. */
  async #read(): Promise<void> {
    this.#reading = true;
    this.#firstChange = undefined;
    this.#returnAt = undefined;
    try {
      const listing = await this.#options.folder.read();
      if (!this.#stopped) await this.#take(listing);
    } catch (thrown) {
      if (!this.#stopped) this.#folderFailed(toError(thrown));
    }
    this.#reading = false;
    if (this.#stopped) return;
    const { clock, fileCheckFrequency = FILE_CHECK_FREQUENCY } = this.#options;
    this.#readAfter(this.#untilReturn(clock.now()) ?? fileCheckFrequency);
    if (!this.#readAgain) return;
    this.#readAgain = false;
    this.#changed();
  }

  async #take(listing: FolderListing): Promise<void> {
    const { node, output, logger, folder } = this.#options;
    if (this.#folderFault) output.manifestGone(folder.path);
    this.#folderFault = false;

    const now = this.#now();
    const changes: FileChange[] = [];
    const files = new Map<string, FileState>();
    const found = [...listing.files, ...listing.errors].sort((a, b) => (a.path < b.path ? -1 : 1));
    for (const file of found) {
      const before = this.#files.get(file.path);
      const same = 'text' in file ? before?.text === file.text : before?.fault === file.error.message;
      if (before !== undefined && same) {
        if (listing.returned.has(file.path)) this.#returnAt = this.#options.clock.now() + AWAY;
        else files.set(file.path, before);
        continue;
      }
      const change =
        'text' in file ? readFile(file, before, { node, now, source: 'file' }) : failFile(file, before, now);
      changes.push(change);
      files.set(file.path, change.state);
    }
    const gone = [...this.#files.keys()].filter((path) => !files.has(path));
    this.#files = files;
    await this.#saveRecords(changes, gone);
    if (this.#stopped) return;

    for (const { report } of changes) {
      if (report.errors.length > 0) logger.warn({ file: report.path, errors: report.errors }, 'invalid manifest');
      output.manifest(report);
    }
    for (const path of gone) output.manifestGone(path);
    if (this.#complete && changes.length + gone.length === 0) return;
    if (listing.missing) logger.info({ path: folder.path }, 'no manifest folder: no static pods');
    this.#complete = true;
    output.set([...files.values()].flatMap((file) => file.pods));
  }

  /** No file is known then, so every pod stays, and the set is not complete before a read succeeds. */
  #folderFailed(error: Error): void {
    const { folder, logger, output } = this.#options;
    logger.error({ path: folder.path, err: error }, 'the manifest folder cannot be read');
    this.#folderFault = true;
    const errors = [{ document: 0, message: error.message }];
    output.manifest({ path: folder.path, readAt: this.#now(), pods: [], errors, warnings: [] });
  }

  async #loadRecords(): Promise<void> {
    const { records, logger } = this.#options;
    try {
      const files = new Map<string, FileState>();
      for (const [key, value] of await records.load()) {
        const record = fileRecordSchema.safeParse(value);
        if (record.success) files.set(record.data.path, { path: record.data.path, pods: record.data.pods });
        else logger.warn({ record: key, err: record.error }, 'unreadable record of a manifest file');
      }
      this.#files = files;
    } catch (thrown) {
      logger.warn({ err: toError(thrown) }, 'the records of manifest files cannot be read');
    }
  }

  /** A record that cannot be written does not affect the pods. */
  async #saveRecords(changes: readonly FileChange[], gone: readonly string[]): Promise<void> {
    const { records, logger } = this.#options;
    const writes = [
      ...changes.map(({ state: { path, pods } }) =>
        records.put(fnv128a(path), { version: 1, path, pods: [...pods] } satisfies FileRecord),
      ),
      ...gone.map((path) => records.delete(fnv128a(path))),
    ];
    for (const result of await Promise.allSettled(writes)) {
      if (result.status === 'rejected') {
        logger.warn({ err: toError(result.reason) }, 'the record of a manifest file cannot be written');
      }
    }
  }

  #now(): string {
    return new Date(this.#options.clock.now()).toISOString();
  }
}
