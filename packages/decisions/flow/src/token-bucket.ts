/** The rate at which something may happen. */
export interface Rate {
  /** Per second, in the long run. */
  readonly qps: number;
  /** At once, after a long pause. */
  readonly burst: number;
}

/**
 * A bucket of `burst` tokens that is refilled with `qps` tokens per second. It is full at first. The caller passes the time:
 * `now` is in milliseconds, of any clock.
 */
export class TokenBucket {
  readonly #rate: Rate;
  /** Negative when future tokens have been reserved. */
  #tokens: number;
  #at: number | undefined;

  constructor(rate: Rate) {
    this.#rate = rate;
    this.#tokens = rate.burst;
  }

  /** Takes a token if one is left; returns whether it did. */
  tryTake(now: number): boolean {
    return this.reserve(now, 0) === 0;
  }

  /**
   * Reserves the next token and returns in how many milliseconds it may be used. Undefined, with none reserved, when that is more
   * than `maxWaitMs`.
   */
  reserve(now: number, maxWaitMs: number): number | undefined {
    this.#fill(now);
    const waitMs = this.#tokens >= 1 ? 0 : ((1 - this.#tokens) / this.#rate.qps) * 1000;
    if (waitMs > maxWaitMs) return undefined;
    this.#tokens -= 1;
    return waitMs;
  }

  /** A clock that is set back adds no tokens. */
  #fill(now: number): void {
    const { qps, burst } = this.#rate;
    const passedMs = Math.max(0, now - (this.#at ?? now));
    this.#tokens = Math.min(burst, this.#tokens + (passedMs * qps) / 1000);
    this.#at = now;
  }
}
