import type { StoredMessage } from '@kubus/bus';
import { payloadOf } from './summary.ts';

/** JSON lines: each chunk one message with `seq`, `stored`, `subject`, `headers` and its parsed `payload`. */
export function* jsonLinesOf(messages: Iterable<StoredMessage>): Generator<string> {
  for (const { seq, stored, message } of messages) {
    const { subject, headers } = message;
    yield `${JSON.stringify({ seq, stored, subject, headers, payload: payloadOf(message) ?? null })}\n`;
  }
}
