import { type ManifestReport, type Pod, podSchema } from '@kubus/contracts';
import { type Duplicates, duplicatePods } from '@kubus/pod-source';
import { fnv128a } from '@kubus/pod';
import { type Cancel, type Clock, type Logger, type RecordStore, toError } from '@kubus/ports';
import * as z from 'zod';
import { type FileState, type ReadFile, failFile, readFile, reportOf } from './manifest-files.ts';
import type { ManifestParser } from './manifest-parser.ts';

/** The content of the manifest folder, or the one manifest file. */
export interface FolderListing {
  readonly files: readonly { readonly path: string; readonly text: string }[];
  /** Files that could not be read. `gone`: there is no such file, only something that leads to none. */
  readonly errors: readonly { readonly path: string; readonly error: Error; readonly gone?: boolean }[];
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
  readonly parser: ManifestParser;
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
  #duplicates: ReadonlyMap<string, Duplicates> = new Map();
  /** By UID: the names of the pods that were passed on. */
  #names: ReadonlyMap<string, string> = new Map();
  /** Pods are yet to be passed on. */
  #withheld = false;
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
    const { output, folder } = this.#options;
    const unreported = this.#folderFault ? [folder.path] : [];
    if (this.#folderFault) output.manifestGone(folder.path);
    this.#folderFault = false;

    const { files, changes } = await this.#readChanges(listing);
    if (this.#stopped) return;
    const gone = [...this.#files.keys()].filter((path) => !files.has(path));
    this.#files = files;
    await this.#saveRecords(changes, gone);
    this.#publish(listing, { changes, gone, unreported });
  }

  #publish(
    { missing }: FolderListing,
    {
      changes,
      gone,
      unreported,
    }: { changes: readonly ReadFile[]; gone: readonly string[]; unreported: readonly string[] },
  ): void {
    if (this.#stopped) return;
    const { output, logger, folder } = this.#options;
    for (const report of this.#reports(changes, unreported)) {
      if (report.errors.length > 0) logger.warn({ file: report.path, errors: report.errors }, 'invalid manifest');
      output.manifest(report);
    }
    for (const path of gone) output.manifestGone(path);
    if (this.#complete && !this.#withheld && changes.length + gone.length === 0) return;
    if (missing) logger.info({ path: folder.path }, 'no manifest folder: no static pods');
    this.#complete = true;
    output.set(this.#withoutRenamed([...this.#files.values()].flatMap((file) => file.pods)));
  }

  /** A pod with another name than the one before with its UID is another pod: it comes when that one has been away for a moment. */
  #withoutRenamed(pods: readonly Pod[]): Pod[] {
    const duplicates = new Set([...this.#duplicates.values()].flatMap((one) => [...one.pods]));
    const before = this.#names;
    const isRenamed = (pod: Pod) =>
      !duplicates.has(pod) && (before.get(pod.metadata.uid) ?? nameOf(pod)) !== nameOf(pod);
    const passed = pods.filter((pod) => !isRenamed(pod));
    this.#withheld = passed.length < pods.length;
    if (this.#withheld) this.#returnAt = this.#options.clock.now() + AWAY;
    this.#names = new Map(passed.filter((pod) => !duplicates.has(pod)).map((pod) => [pod.metadata.uid, nameOf(pod)]));
    return passed;
  }

  /** All files of the folder in their order, and those among them that have changed. */
  async #readChanges({
    files: texts,
    errors,
    returned,
  }: FolderListing): Promise<{ files: Map<string, FileState>; changes: ReadFile[] }> {
    const { node, parser, clock } = this.#options;
    const now = this.#now();
    const changes: ReadFile[] = [];
    const files = new Map<string, FileState>();
    const found = [...texts, ...errors].sort((a, b) => (a.path < b.path ? -1 : 1));
    for (const file of found) {
      if (this.#stopped) break;
      const before = this.#files.get(file.path);
      const same = 'text' in file ? before?.text === file.text : before?.fault === file.error.message;
      if (before !== undefined && same) {
        if (returned.has(file.path)) this.#returnAt = clock.now() + AWAY;
        else files.set(file.path, before);
        continue;
      }
      const change =
        'text' in file
          ? await readFile(file, before, { node, now, source: 'file', parser })
          : failFile(file, file.gone === true ? undefined : before, now);
      changes.push(change);
      files.set(file.path, change);
    }
    return { files, changes };
  }

  /**
   * What is to be reported: of changed files, of those whose pods other files have begun or ceased to have, too, and of those at
   * `unreported`.
   */
  #reports(changes: readonly ReadFile[], unreported: readonly string[]): ManifestReport[] {
    const before = this.#duplicates;
    this.#duplicates = duplicatePods(this.#files.values(), 'file');
    const changed = new Set(changes.map(({ path }) => path));
    const affected = [...new Set([...before.keys(), ...this.#duplicates.keys()])].filter(
      (path) => JSON.stringify(before.get(path)?.errors) !== JSON.stringify(this.#duplicates.get(path)?.errors),
    );
    const others = [...new Set([...affected, ...unreported])].flatMap((path) => {
      const file = this.#files.get(path);
      return file?.report === undefined || changed.has(path) ? [] : [{ ...file, report: file.report }];
    });
    return [...changes, ...others].map((file) => reportOf(file, this.#duplicates.get(file.path)));
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
  async #saveRecords(changes: readonly ReadFile[], gone: readonly string[]): Promise<void> {
    const { records, logger } = this.#options;
    const writes = [
      ...changes.map(({ path, pods }) =>
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

function nameOf({ metadata: { namespace, name } }: Pod): string {
  return `${namespace}/${name}`;
}
