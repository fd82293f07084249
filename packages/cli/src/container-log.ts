import { type FSWatcher, watch } from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';
import { UserError } from './user-error.ts';

export interface LogView {
  /** At most so many lines of what is there at the beginning. */
  readonly tail: number;
  /** Only lines written at or after this time, milliseconds since the Unix epoch. */
  readonly sinceMs: number | undefined;
  /** Each line after its time; a line that was cut has only one. */
  readonly timestamps: boolean;
  write(stream: Stream, text: string): void;
}

type Stream = 'stdout' | 'stderr';

/** One line of the file: a line that was written, or a part of one. */
interface LogLine {
  readonly time: string;
  readonly stream: Stream;
  /** With its line end, if it has one. */
  readonly text: string;
}

/** A change of the file that no notice came for is seen after this, in milliseconds. */
const LOOK_MS = 1_000;
const CHUNK = 64 * 1024;

/** Prints a container's log file (CRI log format: `TIME STREAM F|P TEXT`). */
export async function printLog(path: string, view: LogView): Promise<void> {
  const reader = await LogReader.open(path);
  try {
    new Printer(view).print(lastLines(await reader.more(), view));
  } finally {
    await reader.close();
  }
}

/** Prints a log file and what is added to it, until `ended` says that nothing is written any more. */
export async function followLog(path: string, view: LogView, ended: () => boolean): Promise<void> {
  const reader = await LogReader.open(path);
  const changes = new Changes(path);
  try {
    const printer = new Printer(view);
    printer.print(lastLines(await reader.more(), view));
    for (;;) {
      // Asked before the read: what was written before the end is still printed.
      const last = ended();
      printer.print(await reader.more());
      if (last) return;
      await changes.next();
    }
  } finally {
    changes.close();
    await reader.close();
  }
}

function lastLines(lines: readonly LogLine[], { tail, sinceMs }: LogView): readonly LogLine[] {
  const recent = sinceMs === undefined ? lines : lines.filter(({ time }) => Date.parse(time) >= sinceMs);
  return tail === Number.POSITIVE_INFINITY ? recent : tail === 0 ? [] : recent.slice(-tail);
}

/** Writes lines, and remembers in which streams the next one goes on with the last. */
class Printer {
  readonly #view: LogView;
  readonly #open = new Set<Stream>();

  constructor(view: LogView) {
    this.#view = view;
  }

  print(lines: readonly LogLine[]): void {
    for (const { time, stream, text } of lines) {
      const begins = !this.#open.has(stream);
      this.#view.write(stream, this.#view.timestamps && begins ? `${time} ${text}` : text);
      if (text.endsWith('\n')) this.#open.delete(stream);
      else this.#open.add(stream);
    }
  }
}

/** Reads whole lines of a log file from where it stopped the last time. */
class LogReader {
  readonly #file: FileHandle;
  #position = 0;
  #rest = Buffer.alloc(0);

  private constructor(file: FileHandle) {
    this.#file = file;
  }

  static async open(path: string): Promise<LogReader> {
    const file = await open(path).catch((error: unknown) => {
      throw new UserError(`the log ${path} can not be read: ${String(error)}`);
    });
    return new LogReader(file);
  }

  /** Everything that was added since the last call. */
  async more(): Promise<LogLine[]> {
    const lines: LogLine[] = [];
    for (;;) {
      const { bytesRead, buffer } = await this.#file.read(Buffer.alloc(CHUNK), 0, CHUNK, this.#position);
      if (bytesRead === 0) return lines;
      this.#position += bytesRead;
      const text = Buffer.concat([this.#rest, buffer.subarray(0, bytesRead)]);
      const end = text.lastIndexOf(0x0a) + 1;
      this.#rest = text.subarray(end);
      for (const line of text.subarray(0, end).toString().split('\n')) {
        const parsed = parseLine(line);
        if (parsed !== undefined) lines.push(parsed);
      }
    }
  }

  close(): Promise<void> {
    return this.#file.close();
  }
}

/** `2030-01-01T00:00:00.123456789Z stdout F text`; `P` marks a part of a longer line, which has no line end yet. */
export function parseLine(line: string): LogLine | undefined {
  const match = /^(\S+) (stdout|stderr) ([FP])[^ ]* ?(.*)$/s.exec(line);
  if (match === null) return undefined;
  const [, time = '', stream, tag, text = ''] = match;
  return { time, stream: stream === 'stderr' ? 'stderr' : 'stdout', text: tag === 'F' ? `${text}\n` : text };
}

/** Waits for changes of a file. */
class Changes {
  readonly #watcher: FSWatcher;
  #changed = false;
  #wake: () => void = () => undefined;

  constructor(path: string) {
    this.#watcher = watch(path, () => {
      this.#changed = true;
      this.#wake();
    });
  }

  async next(): Promise<void> {
    if (!this.#changed) {
      await new Promise<void>((resolve) => {
        const late = setTimeout(resolve, LOOK_MS);
        this.#wake = () => {
          clearTimeout(late);
          resolve();
        };
      });
    }
    this.#changed = false;
  }

  close(): void {
    this.#watcher.close();
  }
}
