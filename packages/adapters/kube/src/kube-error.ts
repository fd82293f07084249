import { KubusError, toError } from '@kubus/ports';
import * as z from 'zod';

/** What the API server reports beside the HTTP status when it refuses a request (meta/v1 `Status`). */
const statusSchema = z.object({
  kind: z.literal('Status'),
  message: z.string().optional(),
  reason: z.string().optional(),
  code: z.number().optional(),
  details: z.object({ retryAfterSeconds: z.number().optional() }).optional(),
});

/**
 * Thrown when a request to the API server fails. `code` is `Rejected` when it answered and
 * `Unreachable` when it did not (connection, TLS, time limit, credentials that cannot be read, or the caller's own abort).
 */
export class KubeError extends KubusError {
  /** HTTP status; undefined without a response. */
  readonly status: number | undefined;
  /** `Status.reason`, such as `NotFound`, `Conflict`, `Expired`, `TooManyRequests`. */
  readonly reason: string | undefined;
  /** The delay that the server asks for, in milliseconds. */
  readonly retryAfterMs: number | undefined;
  /** `Status.message`: the server's own text. */
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

/** A response that is not a success. `what` names the request for people. */
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

/** The content of a watch event of type `ERROR`. */
export function rejectedByEvent(what: string, object: unknown): KubeError {
  return rejected(what, statusSchema.safeParse(object).data?.code ?? 500, object);
}

export function unreachable(what: string, thrown: unknown): KubeError {
  if (thrown instanceof KubeError) return thrown;
  const cause = toError(thrown);
  return new KubeError('Unreachable', `${what}: ${cause.message}`, { cause });
}

/**
 * Whether the API server did not answer, or was unable to: credentials that are being renewed, a time limit, too many
 * requests, its own failure. This says nothing about the requested object.
 */
export function isOutage(error: unknown): boolean {
  if (!(error instanceof KubeError)) return false;
  const { status } = error;
  return status === undefined || status >= 500 || status === 401 || status === 408 || status === 429;
}

/** The requested resource version is no longer known: only a new list helps. */
export function isExpired(error: KubeError): boolean {
  return error.status === 410 || error.reason === 'Expired' || error.reason === 'Gone';
}
