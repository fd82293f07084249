import type { KubeError } from './kube-error.ts';

/** How often a request is sent at most, as in the reference's client. */
const MAX_TRIES = 10;
/** How often a reading request is sent at most when the connection breaks. */
const MAX_TRIES_RESET = 3;
const reset: readonly string[] = ['ECONNRESET', 'EPIPE'];

export interface Failure {
  readonly method: string;
  readonly error: KubeError;
  /** How often it was sent. */
  readonly tries: number;
  /** Credentials were read again since the first attempt. */
  readonly renewed: boolean;
  /** Milliseconds until the request's time limit. */
  readonly leftMs: number;
}

/**
 * What to do about a failed request: report it to the caller, read the credentials and send it again, or send it again
 * after a delay. Only a request that the server has certainly not carried out, or that only reads, is repeated.
 *
 * 401: once, with credentials that are read again. 429 and 5xx with `Retry-After`: after that delay, if it is within the
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
