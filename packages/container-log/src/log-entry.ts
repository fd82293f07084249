export type LogStream = 'stdout' | 'stderr';

/**
 * One entry of a container's log in CRI's format, `TIME STREAM TAG TEXT` (kubelet behaviour 1.7): a line that the
 * container has written, or a part of one.
 */
export interface LogEntry {
  /** RFC 3339 with nanoseconds: when the runtime got it. */
  readonly time: string;
  readonly stream: LogStream;
  /** The runtime has cut the line here; it goes on in the next entry of the stream. */
  readonly partial: boolean;
  /** Without a line end. Any bytes: also half a character, at a cut. */
  readonly text: Uint8Array;
}

const NEWLINE = 0x0a;
const BLANK = 0x20;
const TIME = /^\d{4}-\d{2}-\d{2}T\S+$/;

/** Reads one line of a log file, without its line end; undefined when it is none, such as half a line. */
export function parseLogEntry(line: Uint8Array): LogEntry | undefined {
  const afterTime = line.indexOf(BLANK);
  const afterStream = line.indexOf(BLANK, afterTime + 1);
  if (afterTime === -1 || afterStream === -1) return undefined;
  const found = line.indexOf(BLANK, afterStream + 1);
  // An empty line may lack the blank before its text.
  const afterTag = found === -1 ? line.length : found;
  const time = ascii(line.subarray(0, afterTime));
  const stream = ascii(line.subarray(afterTime + 1, afterStream));
  const [tag] = ascii(line.subarray(afterStream + 1, afterTag)).split(':');
  if (!TIME.test(time) || (stream !== 'stdout' && stream !== 'stderr') || (tag !== 'F' && tag !== 'P'))
    return undefined;
  return { time, stream, partial: tag === 'P', text: line.subarray(afterTag + 1) };
}

/** Cuts bytes into whole lines, without their ends; `rest` is what comes after the last end. */
export function splitLines(bytes: Uint8Array): { readonly lines: Uint8Array[]; readonly rest: Uint8Array } {
  const lines: Uint8Array[] = [];
  let begin = 0;
  for (let end = bytes.indexOf(NEWLINE); end !== -1; end = bytes.indexOf(NEWLINE, begin)) {
    lines.push(bytes.subarray(begin, end));
    begin = end + 1;
  }
  return { lines, rest: bytes.subarray(begin) };
}

/** Nanoseconds since the Unix epoch of a time in RFC 3339; undefined when the text is none. */
export function timeNanos(time: string): bigint | undefined {
  const [, date, fraction = '', zone] =
    /^(\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2})(?:\.(\d{1,9}))?(Z|[+-]\d{2}:\d{2})$/i.exec(time) ?? [];
  const ms = Date.parse(`${date ?? ''}${zone ?? ''}`);
  if (Number.isNaN(ms)) return undefined;
  return BigInt(ms) * 1_000_000n + BigInt(fraction.padEnd(9, '0'));
}

function ascii(bytes: Uint8Array): string {
  return bytes.length > 64 ? '' : String.fromCharCode(...bytes);
}
