import { KubusError, toError } from '@kubus/ports';
import * as z from 'zod';
import type { StoredMessage } from './recording.ts';

const lineSchema = z.object({
  /** Left out: the number of the line. */
  seq: z.number().int().optional(),
  subject: z.string(),
  headers: z.record(z.string(), z.string()),
  /** The payload as text, ... */
  data: z.string().optional(),
  /** ... or as JSON. */
  payload: z.unknown(),
});

/**
 * Messages as JSON lines, as `kubus tail -o json` prints them.
 *
 * @throws KubusError naming the line that is none.
 */
export async function* readJsonLines(
  lines: AsyncIterable<string> | Iterable<string>,
  file: string,
): AsyncGenerator<StoredMessage> {
  let number = 0;
  for await (const line of lines) {
    number += 1;
    if (line.trim() === '') continue;
    yield readLine(line, number, file);
  }
}

function readLine(line: string, number: number, file: string): StoredMessage {
  try {
    const { seq = number, subject, headers, data, payload } = lineSchema.parse(JSON.parse(line));
    const text = payload === undefined || payload === null ? '' : JSON.stringify(payload);
    return { seq, message: { subject, headers, data: data ?? text } };
  } catch (error) {
    throw new KubusError('bad-recording', `${file}:${number}: this is no message: ${toError(error).message}`, {
      cause: error,
      context: { file, line: number },
    });
  }
}
