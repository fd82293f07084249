import type { LogEntry, LogLine, LogStream } from '@kubus/container-log';
import type { LogFile } from './log-file.ts';

/** The end of a log. */
export interface LastLines {
  /** The last complete lines, in the order of their ends. */
  readonly lines: readonly LogLine[];
  /** The entries after them, of lines that have not ended yet. */
  readonly open: readonly LogEntry[];
}

/** Number of bytes searched for the starts of the first lines, if lines of another stream are in between. */
const LOOK_BACK = 1024 * 1024;

/**
 * Reads the last `count` lines of a log backward from its end, so that earlier parts are not read. Afterwards the files
 * are at their ends.
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
  /** The last line first; the entries of each line in reverse order too. */
  readonly #lines: LogEntry[][] = [];
  /** The lines of which only the last entries are known. */
  readonly #growing = new Map<LogStream, LogEntry[]>();
  readonly #open: LogEntry[] = [];
  /** The streams of which the end of a line was found. */
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

  /** Adds the preceding entry. Returns true when no earlier ones are needed. */
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
