import type { KubeError } from './kube-error.ts';

/** As many as the reference's client sends of one request. */
const MAX_TRIES = 10;
/** Sends of a request that reads, when the connection breaks. */
const MAX_TRIES_RESET = 3;
const reset: readonly string[] = ['ECONNRESET', 'EPIPE'];

export interface Failure {
  readonly method: string;
  readonly error: KubeError;
  /** How often it was sent. */
  readonly tries: number;
  /** Credentials were read anew since the first time. */
  readonly renewed: boolean;
  /** Milliseconds until the request's time limit. */
  readonly leftMs: number;
}

/**
 * What to do about a request that has failed: tell its sender, read the credentials and send it again, or send it again
 * after a while. Only what the server has certainly not done, or what only reads, is sent again.
 *
 * 401: once, with credentials that are read anew. 429 and 5xx with `Retry-After`: after that time, if it is within the
 * limit. A connection that broke: at once, for GET.
 */
export function afterFailure(failure: Failure): { do: 'fail' } | { do: 'renew' } | { do: 'resend'; afterMs: number } {
  const { method, error, tries, renewed, leftMs } = failure;
  const { status, retryAfterMs } = error;
  if (status === 401 && !renewed) return { do: 'renew' };
  if (status !== undefined) {
    const asked = (status === 429 || status >= 500) && retryAfterMs !== undefined;
    return asked && tries < MAX_TRIES && retryAfterMs < leftMs
      ? { do: 'resend', afterMs: retryAfterMs }
      : { do: 'fail' };
  }
  const broken = method === 'GET' && reset.includes(String(codeOf(error.cause)));
  return broken && tries < MAX_TRIES_RESET && leftMs > 0 ? { do: 'resend', afterMs: 0 } : { do: 'fail' };
}

function codeOf(cause: unknown): unknown {
  return typeof cause === 'object' && cause !== null && 'code' in cause ? cause.code : undefined;
}
