const MAX_AGE_MS = 24 * 60 * 60 * 1000;
const MAX_JITTER_MS = 10_000;
/** The part of a token's lifetime that is left when a new one is requested. */
const LEFT = 0.2;

/** The lifetime of a token; milliseconds since the Unix epoch. */
export interface TokenLife {
  readonly expiresAt: number;
  /** Milliseconds from when it was issued until it expires. */
  readonly lifeMs: number;
}

/**
 * When a new token is requested: when less than a fifth of its lifetime is left or it is a day old, and up to 10 s before
 * that, so that the tokens of many pods are not renewed at once (behaviour:objects-and-tokens, token manager).
 *
 * @param fraction a random number in [0, 1), drawn once for each token
 */
export function refreshAt({ expiresAt, lifeMs }: TokenLife, fraction: number): number {
  const issuedAt = expiresAt - lifeMs;
  return Math.min(issuedAt + MAX_AGE_MS, expiresAt - LEFT * lifeMs) - fraction * MAX_JITTER_MS;
}

/** Whether the token has expired. */
export function isExpired({ expiresAt }: Pick<TokenLife, 'expiresAt'>, now: number): boolean {
  return now >= expiresAt;
}
