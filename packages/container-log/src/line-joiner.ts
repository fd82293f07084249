import type { LogEntry, LogStream } from './log-entry.ts';

/** A line as a container has written it. One that is longer than the memory for it comes in several pieces. */
export interface LogLine {
  /** RFC 3339: that of its first entry. */
  readonly time: string;
  readonly stream: LogStream;
  /** Its text, to be put together. */
  readonly parts: readonly Uint8Array[];
  /** False for the pieces of a long line after the first one. */
  readonly begins: boolean;
  /** False when a piece of the line is still to come, or the line never got an end. */
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

/** Puts lines together that the runtime has cut, each stream's on their own, so that no other line gets between. */
export class LineJoiner {
  readonly #open = new Map<LogStream, OpenLine>();

  /** The line, or piece of one, that is whole with this entry. */
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

  /** What has begun and not ended; nothing more is to come. */
  end(): LogLine[] {
    const lines = [...this.#open].filter(([, { parts }]) => parts.length > 0);
    this.#open.clear();
    return lines.map(([stream, { time, parts, begins }]) => ({ time, stream, parts, begins, ends: false }));
  }
}
