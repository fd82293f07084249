import { KubusError, toError } from '@kubus/ports';
import * as z from 'zod';
import type { StoredMessage } from './recording.ts';

const lineSchema = z
  .object({
    /** Default: the number of the line. */
    seq: z.number().int().optional(),
    subject: z.string(),
    headers: z.record(z.string(), z.string()),
    /** The payload as text, ... */
    data: z.string().optional(),
    /** ... or as JSON; null: it is empty. */
    payload: z.unknown().optional(),
  })
  .refine(({ data, payload }) => data !== undefined || payload !== undefined, {
    path: ['payload'],
    message: 'missing',
  });

/**
 * Messages as JSON lines, as `kubus tail -o json` prints them.
 *
 * @throws KubusError `bad-recording` with file, number and field of an invalid line.
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
    return { seq, message: { subject, headers, data: data ?? (payload === null ? '' : JSON.stringify(payload)) } };
  } catch (error) {
    const why = error instanceof z.ZodError ? fieldsOf(error) : toError(error).message;
    throw new KubusError('bad-recording', `${file}:${number}: not a message: ${why}`, {
      cause: error,
      context: { file, line: number },
    });
  }
}

function fieldsOf({ issues }: z.ZodError): string {
  return issues.map(({ path, message }) => (path.length === 0 ? message : `${path.join('.')}: ${message}`)).join('; ');
}
