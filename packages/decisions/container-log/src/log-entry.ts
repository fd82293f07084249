export type LogStream = 'stdout' | 'stderr';

/**
 * One entry of a container's log in CRI's format, `TIME STREAM TAG TEXT` (behaviour:labels-paths-logs): a line that the
 * container has written, or a part of one.
 */
export interface LogEntry {
  /** When the runtime received it, as RFC 3339 with nanoseconds. */
  readonly time: string;
  readonly stream: LogStream;
  /** The runtime has cut the line here; it continues in the next entry of the stream. */
  readonly partial: boolean;
  /** Without a line end. May contain any bytes, and may end within a character where the line was cut. */
  readonly text: Uint8Array;
}

const NEWLINE = 0x0a;
const BLANK = 0x20;
const TIME = /^\d{4}-\d{2}-\d{2}T\S+$/;

/** Parses one line of a log file, without its line end; undefined when it is not an entry, such as half a line. */
export function parseLogEntry(line: Uint8Array): LogEntry | undefined {
  const afterTime = line.indexOf(BLANK);
  const afterStream = line.indexOf(BLANK, afterTime + 1);
  if (afterTime === -1 || afterStream === -1) return undefined;
  const found = line.indexOf(BLANK, afterStream + 1);
  // An empty line may lack the space before its text.
  const afterTag = found === -1 ? line.length : found;
  const time = ascii(line.subarray(0, afterTime));
  const stream = ascii(line.subarray(afterTime + 1, afterStream));
  const [tag] = ascii(line.subarray(afterStream + 1, afterTag)).split(':');
  if (!TIME.test(time) || (stream !== 'stdout' && stream !== 'stderr') || (tag !== 'F' && tag !== 'P'))
    return undefined;
  return { time, stream, partial: tag === 'P', text: line.subarray(afterTag + 1) };
}

/** Splits bytes into complete lines, without their ends; `rest` is what follows the last end. */
export function splitLines(bytes: Uint8Array): { readonly lines: Uint8Array[]; readonly rest: Uint8Array } {
  const lines: Uint8Array[] = [];
  let begin = 0;
  for (let end = bytes.indexOf(NEWLINE); end !== -1; end = bytes.indexOf(NEWLINE, begin)) {
    lines.push(bytes.subarray(begin, end));
    begin = end + 1;
  }
  return { lines, rest: bytes.subarray(begin) };
}

function ascii(bytes: Uint8Array): string {
  return bytes.length > 64 ? '' : String.fromCharCode(...bytes);
}
