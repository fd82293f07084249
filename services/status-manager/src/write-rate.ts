import { type Rate, TokenBucket } from '@kubus/flow';

/**
 * How often writes to the API server may start. Writes that are not urgent get at most half of the rate, so that a
 * burst of them, such as 100 pods that become ready at once, leaves enough for urgent ones.
 */
export class WriteRate {
  readonly #all: TokenBucket;
  readonly #notUrgent: TokenBucket;
  readonly #periodMs: number;

  constructor({ qps, burst }: Rate) {
    this.#all = new TokenBucket({ qps, burst });
    this.#notUrgent = new TokenBucket({ qps: qps / 2, burst: Math.max(1, burst / 2) });
    this.#periodMs = 1000 / qps;
  }

  /**
   * Takes the right to start a write at `now`: 0 when it may start, otherwise in how many milliseconds to ask again.
   */
  take(urgent: boolean, now: number): number {
    if (!urgent && !this.#notUrgent.tryTake(now)) return 2 * this.#periodMs;
    return this.#all.tryTake(now) ? 0 : this.#periodMs;
  }
}
