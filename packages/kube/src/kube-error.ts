import { KubusError, toError } from '@kubus/ports';
import * as z from 'zod';

/** What the API server says beside the HTTP status when it refuses something (meta/v1 `Status`). */
const statusSchema = z.object({
  kind: z.literal('Status'),
  message: z.string().optional(),
  reason: z.string().optional(),
  code: z.number().optional(),
  details: z.object({ retryAfterSeconds: z.number().optional() }).optional(),
});

/**
 * What the API server answers instead of the result, or that it gives none. `code` is `Rejected` when it answered and
 * `Unreachable` when it did not (connection, TLS, time limit, credentials that cannot be read, or the caller's own abort).
 */
export class KubeError extends KubusError {
  /** HTTP status; undefined without an answer. */
  readonly status: number | undefined;
  /** `Status.reason`, such as `NotFound`, `Conflict`, `Expired`, `TooManyRequests`. */
  readonly reason: string | undefined;
  /** How long the server asks to wait, in milliseconds. */
  readonly retryAfterMs: number | undefined;
  /** `Status.message`: the server's own words. */
  readonly said: string | undefined;

  constructor(
    code: 'Rejected' | 'Unreachable',
    message: string,
    options: {
      cause?: unknown;
      status?: number | undefined;
      reason?: string | undefined;
      retryAfterMs?: number | undefined;
      said?: string | undefined;
    } = {},
  ) {
    const { cause, status, reason, retryAfterMs, said } = options;
    super(code, message, { cause, context: { status, reason } });
    this.status = status;
    this.reason = reason;
    this.retryAfterMs = retryAfterMs;
    this.said = said;
  }
}

/** An answer that is no success. `what` names the request for people. */
export function rejected(what: string, status: number, body: unknown, retryAfter?: string): KubeError {
  const said = statusSchema.safeParse(body).data;
  const reason = said?.reason;
  const seconds = retryAfter !== undefined && /^\d+$/.test(retryAfter) ? Number(retryAfter) : undefined;
  const asked = seconds ?? said?.details?.retryAfterSeconds;
  const text = said?.message ?? (typeof body === 'string' ? body.slice(0, 200).trim() : '');
  const message = `${what}: ${[status, reason].filter((part) => part !== undefined).join(' ')}${text === '' ? '' : `: ${text}`}`;
  return new KubeError('Rejected', message, {
    status,
    reason,
    retryAfterMs: asked === undefined ? undefined : asked * 1000,
    said: said?.message,
  });
}

/** What a watch says in an event of type `ERROR`. */
export function rejectedByEvent(what: string, object: unknown): KubeError {
  return rejected(what, statusSchema.safeParse(object).data?.code ?? 500, object);
}

export function unreachable(what: string, thrown: unknown): KubeError {
  if (thrown instanceof KubeError) return thrown;
  const cause = toError(thrown);
  return new KubeError('Unreachable', `${what}: ${cause.message}`, { cause });
}

/**
 * Whether the API server has not answered, or could not now: credentials that are being renewed, a time limit, too many
 * requests, its own failure. This says nothing about what was asked.
 */
export function isOutage(error: unknown): boolean {
  if (!(error instanceof KubeError)) return false;
  const { status } = error;
  return status === undefined || status >= 500 || status === 401 || status === 408 || status === 429;
}

/** The resource version that was asked for is no longer known: only a new list helps. */
export function isExpired(error: KubeError): boolean {
  return error.status === 410 || error.reason === 'Expired' || error.reason === 'Gone';
}
