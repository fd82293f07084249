import { toError } from '@kubus/ports';
import * as z from 'zod';

/** A change of one record: its new value, or its removal. */
export type Change =
  { readonly key: string; readonly value: unknown } | { readonly key: string; readonly removed: true };

/** One line of a journal. Unknown fields are ignored. */
const lineSchema = z.object({
  key: z.string(),
  value: z.unknown().optional(),
  removed: z.literal(true).optional(),
});

/** How each line starts: what else follows the last line break was not left by an interrupted write. */
const START = '{"key":"';
const KEY = /^\{"key":("(?:[^"\\]|\\.)*")/;
const LINE_BREAK = 0x0a;

/** A line that is no change. */
interface DamagedLine {
  /** Counted from 1. */
  readonly number: number;
  /** Its record, where its start is intact. */
  readonly key: string | undefined;
  readonly bytes: Buffer;
  readonly error: Error;
}

/** What a journal contains. */
export interface JournalContent {
  /** The newest line of each record, without the line break, by key. */
  readonly lines: Map<string, string>;
  readonly damaged: readonly DamagedLine[];
  /** The number of bytes before a last line that an interrupted write has left incomplete. */
  readonly length: number;
  /** Whether the last of these bytes are a damaged line without its line break. */
  readonly isBroken: boolean;
}

/** A change as a line of a journal, without the line break. JSON text contains none. */
export function lineOf(change: Change): string {
  return JSON.stringify(change);
}

/** The value in a line of {@link JournalContent.lines}. */
export function valueOf(line: string): unknown {
  return lineSchema.parse(JSON.parse(line)).value;
}

/**
 * Reads a journal. A last line without its line break is an interrupted write and does not count. Where a damaged line
 * was the newest one of a record, the record is left out: an older value would be wrong.
 */
export function readJournal(content: Buffer): JournalContent {
  const lines = new Map<string, string>();
  const damaged: DamagedLine[] = [];
  let start = 0;
  for (let number = 1; start < content.length; number++) {
    const found = content.indexOf(LINE_BREAK, start);
    const bytes = content.subarray(start, found === -1 ? content.length : found);
    const text = bytes.toString();
    if (found === -1 && (START.startsWith(text) || text.startsWith(START))) break;
    start = found === -1 ? content.length : found + 1;
    try {
      const { key, value, removed } = lineSchema.parse(JSON.parse(text));
      if (removed === true) lines.delete(key);
      else if (value !== undefined) lines.set(key, text);
      else throw new Error('it has neither a value nor a removal');
    } catch (error) {
      const key = keyOf(text);
      if (key !== undefined) lines.delete(key);
      damaged.push({ number, key, bytes, error: toError(error) });
    }
  }
  return { lines, damaged, length: start, isBroken: start > 0 && content[start - 1] !== LINE_BREAK };
}

function keyOf(text: string): string | undefined {
  const quoted = KEY.exec(text)?.[1];
  try {
    return quoted === undefined ? undefined : z.string().parse(JSON.parse(quoted));
  } catch {
    return undefined;
  }
}
