/** How often something may happen. */
export interface Rate {
  /** Per second, in the long run. */
  readonly qps: number;
  /** At once, after a long rest. */
  readonly burst: number;
}

/** A bucket of `burst` tokens that fills again by `qps` tokens per second. Full at first. Times are in milliseconds. */
export class TokenBucket {
  readonly #rate: Rate;
  /** Negative: tokens that are promised for later. */
  #tokens: number;
  #at: number | undefined;

  constructor(rate: Rate) {
    this.#rate = rate;
    this.#tokens = rate.burst;
  }

  /** Takes a token if there is one. */
  tryTake(now: number): boolean {
    return this.reserve(now, 0) === 0;
  }

  /**
   * Takes the next token that nobody has, and tells how many milliseconds it is away. Takes none when that is more than
   * `maxWaitMs`.
   */
  reserve(now: number, maxWaitMs: number): number | undefined {
    this.#fill(now);
    const waitMs = this.#tokens >= 1 ? 0 : ((1 - this.#tokens) / this.#rate.qps) * 1000;
    if (waitMs > maxWaitMs) return undefined;
    this.#tokens -= 1;
    return waitMs;
  }

  /** A clock that goes back fills nothing. */
  #fill(now: number): void {
    const { qps, burst } = this.#rate;
    const passedMs = Math.max(0, now - (this.#at ?? now));
    this.#tokens = Math.min(burst, this.#tokens + (passedMs * qps) / 1000);
    this.#at = now;
  }
}
