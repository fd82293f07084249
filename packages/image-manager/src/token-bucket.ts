/** How often something may begin. */
export interface RateLimit {
  /** Per second, on average. */
  readonly perSecond: number;
  /** At once, after a quiet time. */
  readonly burst: number;
}

/** The state of a limiter: what is left, at `at` (milliseconds since the Unix epoch). */
export interface TokenBucket {
  readonly tokens: number;
  readonly at: number;
}

/** A bucket that nothing was taken from. */
export function fullBucket(limit: RateLimit, now: number): TokenBucket {
  return { tokens: limit.burst, at: now };
}

/** Takes one token. Undefined when there is none; nothing is borrowed from the time to come. */
export function takeToken(bucket: TokenBucket, limit: RateLimit, now: number): TokenBucket | undefined {
  const passed = Math.max(0, now - bucket.at) / 1000;
  const tokens = Math.min(limit.burst, bucket.tokens + passed * limit.perSecond);
  return tokens < 1 ? undefined : { tokens: tokens - 1, at: Math.max(now, bucket.at) };
}
