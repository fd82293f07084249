import type { LogEntry, LogLine, LogStream } from '@kubus/container-log';
import type { LogFile } from './log-file.ts';

/** The end of a log. */
export interface LastLines {
  /** The last whole lines, in the order in which they ended. */
  readonly lines: readonly LogLine[];
  /** The entries after them, of lines that have not ended yet. */
  readonly open: readonly LogEntry[];
}

/** Bytes that are looked through for the beginnings of the first lines, when another stream's lines lie between. */
const LOOK_BACK = 1024 * 1024;

/**
 * Reads the last `count` lines of a log from its end backward, so that what lies before is not read. The files are then
 * read to their ends.
 *
 * @param files the oldest first
 * @param isWanted whether an entry counts
 */
export async function lastLines(
  files: readonly LogFile[],
  count: number,
  isWanted: (entry: LogEntry) => boolean,
): Promise<LastLines> {
  const found = new Found(count);
  for (const file of files.toReversed()) {
    for await (const entry of file.entriesBackward()) if (isWanted(entry) && found.add(entry)) return found;
  }
  return found;
}

class Found implements LastLines {
  readonly #count: number;
  /** The last line first; each one’s entries the last one first. */
  readonly #lines: LogEntry[][] = [];
  /** The lines of which only the last entries are known. */
  readonly #growing = new Map<LogStream, LogEntry[]>();
  readonly #open: LogEntry[] = [];
  /** The streams of which an end of a line was seen. */
  readonly #seen = new Set<LogStream>();
  #lookedBack = 0;

  constructor(count: number) {
    this.#count = count;
  }

  get lines(): readonly LogLine[] {
    return this.#lines.toReversed().flatMap((line): LogLine[] => {
      const entries = line.toReversed();
      const [first] = entries;
      if (first === undefined) return [];
      return [
        { time: first.time, stream: first.stream, parts: entries.map(({ text }) => text), begins: true, ends: true },
      ];
    });
  }

  get open(): readonly LogEntry[] {
    return this.#open.toReversed();
  }

  /** Takes the entry before those that were added so far. True when nothing before it is needed. */
  add(entry: LogEntry): boolean {
    const { stream, partial, text } = entry;
    if (partial) {
      this.#growing.get(stream)?.push(entry);
      if (!this.#seen.has(stream)) this.#open.push(entry);
    } else {
      this.#seen.add(stream);
      this.#growing.delete(stream);
      if (this.#lines.length < this.#count) {
        this.#lines.push([entry]);
        this.#growing.set(stream, this.#lines.at(-1) ?? []);
      }
    }
    if (this.#lines.length < this.#count) return false;
    this.#lookedBack += text.length;
    const complete = this.#growing.size === 0 && this.#open.every((one) => this.#seen.has(one.stream));
    return complete || this.#lookedBack > LOOK_BACK;
  }
}
