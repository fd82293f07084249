import type { LogEntry, LogStream } from './log-entry.ts';

/** A line written by a container. A line that exceeds the buffer is returned in several pieces. */
export interface LogLine {
  /** The time of its first entry, as RFC 3339. */
  readonly time: string;
  readonly stream: LogStream;
  /** The parts of its text, to be joined. */
  readonly parts: readonly Uint8Array[];
  /** False for the pieces of a long line after the first one. */
  readonly begins: boolean;
  /** False when a further piece of the line follows, or when the line was never ended. */
  readonly ends: boolean;
}

interface OpenLine {
  readonly time: string;
  parts: Uint8Array[];
  bytes: number;
  begins: boolean;
}

/** Bytes of a line that are kept until it ends. The runtime cuts lines every 16 KiB. */
const MOST_BYTES = 1024 * 1024;

/** Joins the lines that the runtime has cut, separately for each stream, so that no other line gets between. */
export class LineJoiner {
  readonly #open = new Map<LogStream, OpenLine>();

  /** The line, or the piece of a line, that this entry completes. */
  add({ time, stream, partial, text }: LogEntry): LogLine | undefined {
    const line = this.#open.get(stream) ?? { time, parts: [], bytes: 0, begins: true };
    line.parts.push(text);
    line.bytes += text.length;
    if (!partial) this.#open.delete(stream);
    else if (line.bytes < MOST_BYTES) {
      this.#open.set(stream, line);
      return undefined;
    } else {
      this.#open.set(stream, { time: line.time, parts: [], bytes: 0, begins: false });
    }
    return { time: line.time, stream, parts: line.parts, begins: line.begins, ends: !partial };
  }

  /** The lines that have begun and not ended. To be called when no more entries follow. */
  end(): LogLine[] {
    const lines = [...this.#open].filter(([, { parts }]) => parts.length > 0);
    this.#open.clear();
    return lines.map(([stream, { time, parts, begins }]) => ({ time, stream, parts, begins, ends: false }));
  }
}
