import { type Rate, TokenBucket } from '@kubus/event-correlator';

/**
 * When a write may begin: as often as the API server is to be asked at most. News that nobody waits for gets no more than half
 * of it, so that much of it does not use up what urgent news need, such as that 100 pods have become ready at once.
 */
export class Turns {
  readonly #all: TokenBucket;
  readonly #calm: TokenBucket;
  readonly #periodMs: number;

  constructor({ qps, burst }: Rate) {
    this.#all = new TokenBucket({ qps, burst });
    this.#calm = new TokenBucket({ qps: qps / 2, burst: Math.max(1, burst / 2) });
    this.#periodMs = 1000 / qps;
  }

  /** Takes a turn: 0, or in how many milliseconds to ask again. Times are in milliseconds. */
  take(urgent: boolean, now: number): number {
    if (!urgent && !this.#calm.tryTake(now)) return 2 * this.#periodMs;
    return this.#all.tryTake(now) ? 0 : this.#periodMs;
  }
}
