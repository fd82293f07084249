import { type LogEntry, parseLogEntry, splitLines } from '@kubus/container-log';
import { openRegular } from '@kubus/filesystem';
import type { FileHandle } from 'node:fs/promises';
import { pipeline } from 'node:stream';
import { createGunzip } from 'node:zlib';

/** One file of a log. It is read to its end even if it is renamed. */
export interface LogFile {
  /** The entries from the end of the last read to the current end, many at a time. */
  entries(): AsyncGenerator<readonly LogEntry[]>;
  /** All entries, the last one first. {@link entries} then starts after the end. */
  entriesBackward(): AsyncGenerator<LogEntry>;
  /** The first bytes: with the time of the first entry they identify the file, also after its compression. */
  head(): Promise<string>;
  /** When it was last written, in milliseconds since the Unix epoch. */
  writtenAt(): Promise<number>;
  /** Whether it is the file that now has this path's device and inode. */
  isSame(stats: { readonly dev: number; readonly ino: number }): Promise<boolean>;
  close(): Promise<void>;
}

const CHUNK = 64 * 1024;
const HEAD = 64;
const NEWLINE = 0x0a;

/** Opens a file that is or was written by the runtime. Rejects with ENOENT when there is none, and for anything but a regular file. */
export async function openPlain(path: string): Promise<LogFile> {
  return new PlainFile(await openRegular(path));
}

/** Opens a rotated file that was compressed; rejects as {@link openPlain}. */
export async function openCompressed(path: string): Promise<LogFile> {
  return new CompressedFile(await openRegular(path));
}

class PlainFile implements LogFile {
  readonly #file: FileHandle;
  /** Position of the first line that was not read yet. */
  #position = 0;

  constructor(file: FileHandle) {
    this.#file = file;
  }

  async *entries(): AsyncGenerator<readonly LogEntry[]> {
    let rest: Uint8Array = Buffer.alloc(0);
    for (;;) {
      const chunk = await this.#read(this.#position + rest.length, CHUNK);
      if (chunk.length === 0) return;
      const cut = splitLines(Buffer.concat([rest, chunk]));
      this.#position += rest.length + chunk.length - cut.rest.length;
      rest = cut.rest;
      yield parse(cut.lines);
    }
  }

  async *entriesBackward(): AsyncGenerator<LogEntry> {
    this.#position = await this.#endOfLines();
    let rest: Uint8Array = Buffer.alloc(0);
    for (let end = this.#position; end > 0;) {
      const begin = Math.max(0, end - CHUNK);
      // Both end with a line end. The first line may start before this chunk.
      const [first, ...whole] = splitLines(Buffer.concat([await this.#read(begin, end - begin), rest])).lines;
      yield* parse(whole).reverse();
      rest = first === undefined ? rest : Buffer.concat([first, Buffer.of(NEWLINE)]);
      end = begin;
    }
    yield* parse(splitLines(rest).lines);
  }

  async head(): Promise<string> {
    return (await this.#read(0, HEAD)).toString('latin1');
  }

  async writtenAt(): Promise<number> {
    return (await this.#file.stat()).mtimeMs;
  }

  async isSame({ dev, ino }: { readonly dev: number; readonly ino: number }): Promise<boolean> {
    const own = await this.#file.stat();
    return own.dev === dev && own.ino === ino;
  }

  close(): Promise<void> {
    return this.#file.close();
  }

  /** After the last line end. */
  async #endOfLines(): Promise<number> {
    for (let end = (await this.#file.stat()).size; end > 0;) {
      const begin = Math.max(0, end - CHUNK);
      const found = (await this.#read(begin, end - begin)).lastIndexOf(NEWLINE);
      if (found !== -1) return begin + found + 1;
      end = begin;
    }
    return 0;
  }

  async #read(position: number, bytes: number): Promise<Buffer> {
    const { buffer, bytesRead } = await this.#file.read(Buffer.alloc(bytes), 0, bytes, position);
    return buffer.subarray(0, bytesRead);
  }
}

/** It no longer grows. */
class CompressedFile implements LogFile {
  readonly #file: FileHandle;
  #read = false;

  constructor(file: FileHandle) {
    this.#file = file;
  }

  async *entries(): AsyncGenerator<readonly LogEntry[]> {
    if (this.#read) return;
    this.#read = true;
    let rest: Uint8Array = Buffer.alloc(0);
    for await (const chunk of this.#chunks()) {
      const cut = splitLines(Buffer.concat([rest, chunk]));
      rest = cut.rest;
      yield parse(cut.lines);
    }
  }

  /** Compressed data can be read forward only, so the whole file is loaded into memory. */
  async *entriesBackward(): AsyncGenerator<LogEntry> {
    this.#read = true;
    const chunks: Buffer[] = [];
    for await (const chunk of this.#chunks()) chunks.push(chunk);
    const { lines } = splitLines(Buffer.concat(chunks));
    for (const line of lines.reverse()) yield* parse([line]);
  }

  async head(): Promise<string> {
    const chunks: Buffer[] = [];
    for await (const chunk of this.#chunks()) {
      chunks.push(chunk);
      if (Buffer.concat(chunks).length >= HEAD) break;
    }
    return Buffer.concat(chunks).subarray(0, HEAD).toString('latin1');
  }

  async writtenAt(): Promise<number> {
    return (await this.#file.stat()).mtimeMs;
  }

  isSame(): Promise<boolean> {
    return Promise.resolve(false);
  }

  close(): Promise<void> {
    return this.#file.close();
  }

  #chunks(): AsyncIterable<Buffer> {
    const unzip = createGunzip();
    // An error of either reaches the reader of the other end.
    pipeline(this.#file.createReadStream({ start: 0, autoClose: false }), unzip, () => undefined);
    return unzip;
  }
}

/** The entries of lines; invalid lines are skipped, such as half a line after a full disk. */
function parse(lines: readonly Uint8Array[]): LogEntry[] {
  return lines.map(parseLogEntry).filter((entry) => entry !== undefined);
}
