const MAX_AGE_MS = 24 * 60 * 60 * 1000;
const MAX_JITTER_MS = 10_000;
/** The part of its life that is left of a token when a new one is wanted. */
const LEFT = 0.2;

/** How long a token lives; milliseconds since the Unix epoch. */
export interface TokenLife {
  readonly expiresAt: number;
  /** Milliseconds from its issue until it expires. */
  readonly lifeMs: number;
}

/**
 * From when on a new token is to be got: when less than a fifth of its life is left or it is a day old, and up to 10 s
 * before that, so that the tokens of many pods are not renewed at once (kubelet behaviour 1.14, token manager).
 *
 * @param fraction a random number in [0, 1), drawn once for each token.
 */
export function refreshAt({ expiresAt, lifeMs }: TokenLife, fraction: number): number {
  const issuedAt = expiresAt - lifeMs;
  return Math.min(issuedAt + MAX_AGE_MS, expiresAt - LEFT * lifeMs) - fraction * MAX_JITTER_MS;
}

/** Whether nobody takes the token any more. */
export function isExpired({ expiresAt }: Pick<TokenLife, 'expiresAt'>, now: number): boolean {
  return now >= expiresAt;
}
