import { KubusError, type Logger, type RecordStore, hasErrno, toError } from '@kubus/ports';
import {
  closeSync,
  constants,
  fstatSync,
  ftruncateSync,
  mkdirSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeSync,
} from 'node:fs';
import { dirname } from 'node:path';
import { type Reserve, withReserve } from '../reserve.ts';
import { type Change, lineOf, readJournal, valueOf } from './journal-lines.ts';

/** By how many bytes a journal may exceed twice the size of what it has to contain before it is written anew. */
const MOST_UNUSED = 256 * 1024;
/** The largest journal in bytes: a larger one is neither read nor written. */
const MOST_BYTES = 64 * 1024 * 1024;

/** A change as it is written. */
interface Line {
  readonly key: string;
  readonly line: string;
  readonly isRemoval: boolean;
}

/** A change that is written at the end of the turn. */
interface Waiting extends Line {
  readonly resolve: () => void;
  readonly reject: (error: KubusError) => void;
}

/** What is known of the file. */
interface Content {
  /** The newest line of each record, by key. */
  lines: Map<string, string>;
  /** Lines that cannot be understood; they are kept for a person to look at. */
  readonly damaged: readonly Buffer[];
  /** How many bytes of the file are valid; an interrupted write may have left others behind them. */
  size: number;
  /** Whether nothing can be appended to the file, so that the next change writes it anew. */
  isBroken: boolean;
  /** The file is not written anew before it has this size: it could not be written anew when it was smaller. */
  rewriteFrom: number;
}

/**
 * Records in one file, to which each change is appended as a line of JSON: for records that change several times in a
 * short life. What one turn of the event loop changes is one write. A file that has grown is replaced by one with the
 * newest line of each record.
 *
 * As with {@link FileRecordStore} the disk is not flushed (docs/decisions/0005-records-without-fsync.md). One process
 * at a time may change records.
 */
export class JournalRecordStore implements RecordStore {
  readonly #path: string;
  readonly #logger: Logger;
  readonly #reserve: Reserve | undefined;
  #content: Content | undefined;
  /** The open file, once something was written. */
  #file: number | undefined;
  #waiting: Waiting[] = [];

  /** @param options.reserve makes room when the disk is full */
  constructor(options: { path: string; logger: Logger; reserve?: Reserve }) {
    this.#path = options.path;
    this.#logger = options.logger;
    this.#reserve = options.reserve;
    mkdirSync(dirname(this.#path), { recursive: true, mode: 0o700 });
  }

  /** Every record, by key. Damaged lines are reported and stay in the file. Rejects when the file cannot be read. */
  load(): Promise<Map<string, unknown>> {
    return this.#reading(({ lines }) => new Map([...lines].map(([key, line]) => [key, valueOf(line)])));
  }

  keys(): Promise<string[]> {
    return this.#reading(({ lines }) => [...lines.keys()]);
  }

  read(key: string): Promise<unknown> {
    return this.#reading(({ lines }) => {
      const line = lines.get(key);
      return line === undefined ? undefined : valueOf(line);
    });
  }

  put(key: string, value: unknown): Promise<void> {
    return this.#change({ key, value });
  }

  delete(key: string): Promise<void> {
    return this.#reading(({ lines }) => {
      const isWaiting = this.#waiting.some((change) => change.key === key);
      if (isWaiting || (lines.has(key) && !this.#isRemoved())) return this.#change({ key, removed: true });
      // A file that somebody has removed has no record either; the next change writes it anew, without this one.
      lines.delete(key);
      return undefined;
    });
  }

  /** Closes the file; a later change opens it again. */
  close(): void {
    if (this.#file !== undefined) closeSync(this.#file);
    this.#file = undefined;
  }

  #reading<T>(look: (content: Content) => T | Promise<T>): Promise<T> {
    return new Promise((resolve) => resolve(look(this.#read())));
  }

  #read(): Content {
    this.#content ??= this.#readFile();
    return this.#content;
  }

  #readFile(): Content {
    const path = this.#path;
    let bytes = Buffer.alloc(0);
    try {
      requireBound(statSync(path).size);
      bytes = readFileSync(path);
    } catch (error) {
      if (!hasErrno(error, 'ENOENT')) throw this.#error('read', error);
    }
    const { lines, damaged, length, isBroken } = readJournal(bytes);
    for (const { number: line, key, error: err } of damaged) {
      this.#logger.error({ path, line, key, err }, `line ${line} of the journal ${path} is damaged and is skipped`);
    }
    if (length < bytes.length) {
      this.#logger.warn({ path, bytes: bytes.length - length }, 'the last write to the journal was interrupted');
    }
    return { lines, damaged: damaged.map((one) => one.bytes), size: length, isBroken, rewriteFrom: 0 };
  }

  #change(change: Change): Promise<void> {
    return new Promise((resolve, reject) => {
      const line = lineOf(change);
      this.#waiting.push({ key: change.key, line, isRemoval: 'removed' in change, resolve, reject });
      // After everything that this turn has made ready: what it changes is written together.
      if (this.#waiting.length === 1) process.nextTick(() => this.#flush());
    });
  }

  #flush(): void {
    const group = this.#waiting;
    this.#waiting = [];
    try {
      withReserve(this.#reserve, () => this.#write(group));
      for (const { resolve } of group) resolve();
    } catch (error) {
      const failed = this.#error('written', error);
      for (const { reject } of group) reject(failed);
    }
  }

  #write(changes: readonly Line[]): void {
    const content = this.#read();
    const appended = Buffer.from(changes.map(({ line }) => `${line}\n`).join(''));
    this.#file ??= this.#open(content);
    if (content.isBroken || this.#isRemoved()) this.#writeAnew(content, changes);
    else if (!this.#isGrown(content, appended.length) || !this.#canWriteAnew(content, changes)) {
      this.#append(this.#file, content, appended);
      apply(content.lines, changes);
    }
  }

  #open(content: Content): number {
    const file = openSync(this.#path, constants.O_WRONLY | constants.O_CREAT, 0o600);
    const { size } = fstatSync(file);
    if (size > content.size) ftruncateSync(file, content.size);
    if (size < content.size) content.isBroken = true;
    return file;
  }

  /** Whether the open file has been removed: nothing that is written to it is found after a crash. */
  #isRemoved(): boolean {
    return this.#file !== undefined && fstatSync(this.#file).nlink === 0;
  }

  #isGrown({ lines, damaged, size, rewriteFrom }: Content, more: number): boolean {
    if (size + more < Math.max(MOST_UNUSED, rewriteFrom)) return false;
    let used = 0;
    for (const { length } of [...lines.values(), ...damaged]) used += length;
    return size + more > 2 * used + MOST_UNUSED;
  }

  #append(file: number, content: Content, bytes: Buffer): void {
    requireBound(content.size + bytes.length);
    try {
      writeAll(file, bytes, content.size);
    } catch (error) {
      content.isBroken = true;
      ftruncateSync(file, content.size);
      content.isBroken = false;
      throw error;
    }
    content.size += bytes.length;
  }

  /** False when it failed; the file is as before. */
  #canWriteAnew(content: Content, changes: readonly Line[]): boolean {
    try {
      this.#writeAnew(content, changes);
      return true;
    } catch (error) {
      content.rewriteFrom = content.size + MOST_UNUSED;
      this.#logger.warn({ path: this.#path, err: toError(error) }, 'the journal has grown and cannot be written anew');
      return false;
    }
  }

  #writeAnew(content: Content, changes: readonly Line[]): void {
    const part = `${this.#path}.part`;
    const lines = apply(new Map(content.lines), changes);
    const bytes = Buffer.concat(
      [...content.damaged, ...lines.values()].flatMap((line) => [Buffer.from(line), LINE_END]),
    );
    requireBound(bytes.length);
    const file = openSync(part, 'w', 0o600);
    try {
      writeAll(file, bytes, 0);
      renameSync(part, this.#path);
    } catch (error) {
      closeSync(file);
      rmSync(part, { force: true });
      throw error;
    }
    this.close();
    this.#file = file;
    Object.assign(content, { lines, size: bytes.length, isBroken: false });
  }

  #error(what: 'read' | 'written', cause: unknown): KubusError {
    const path = this.#path;
    const message = `the journal ${path} cannot be ${what}: ${toError(cause).message}`;
    return new KubusError('state-folder', message, { cause, context: { path } });
  }
}

const LINE_END = Buffer.from('\n');

function apply(lines: Map<string, string>, changes: readonly Line[]): Map<string, string> {
  for (const { key, line, isRemoval } of changes) {
    if (isRemoval) lines.delete(key);
    else lines.set(key, line);
  }
  return lines;
}

function requireBound(size: number): void {
  if (size > MOST_BYTES) throw new Error(`${size} bytes are more than ${MOST_BYTES}`);
}

/** Writes all bytes at this position: a full disk takes only a part of them, and then none. */
function writeAll(file: number, bytes: Buffer, position: number): void {
  for (let done = 0; done < bytes.length;) done += writeSync(file, bytes, done, bytes.length - done, position + done);
}
