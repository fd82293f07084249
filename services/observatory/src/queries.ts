import * as z from 'zod';
import { RequestError } from './recordings.ts';

const number = z.coerce.number();
const whole = z.coerce.number().int().nonnegative();

export const messagesQuery = z.strictObject({
  pod: z.string().min(1).optional(),
  type: z.string().min(1).optional(),
  source: z.string().min(1).optional(),
  kind: z.enum(['fact', 'cmd', 'event', 'reply']).optional(),
  from: number.optional(),
  to: number.optional(),
  after: whole.optional(),
  limit: whole.min(1).max(1000).default(1000),
});

export const densityQuery = z.strictObject({ buckets: whole.min(1).max(10_000).default(500) });

const what = z.enum(['start', 'stop']);
export const latencyQuery = z.strictObject({ what: what.default('start') });

/** `<recording>` or `<recording>/<uid>`. */
const side = z.string().regex(/^[^/]+(\/[^/]+)?$/, { error: 'must be a recording, or a recording/pod' });
export const compareQuery = z.strictObject({ left: side, right: side, what: what.default('start') });

export const traceQuery = z.strictObject({
  format: z.enum(['otlp', 'chrome', 'jsonl']).default('jsonl'),
  pod: z.string().min(1).optional(),
});

export const pressureQuery = z.strictObject({ signal: z.string().min(1).max(100).optional() });

export const topologyQuery = z.strictObject({ at: number.optional() });

/** Throws a RequestError that names the invalid field. */
export function parsed<T>(schema: z.ZodType<T>, value: unknown): T {
  const result = schema.safeParse(value ?? {});
  if (result.success) return result.data;
  const text = result.error.issues
    .map(({ path, message }) => [...(path.length > 0 ? [path.join('.')] : []), message].join(': '))
    .join('; ');
  throw new RequestError(400, 'bad-request', text);
}
