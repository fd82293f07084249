/** First delay in milliseconds before a retry, as the reference waits to register (behaviour:node-object). */
const FIRST_MS = 100;
const MAX_MS = 7_000;

/** Delays that double with each consecutive failure, in milliseconds. */
export class RetryWait {
  #ms = FIRST_MS;

  next(): number {
    const now = this.#ms;
    this.#ms = Math.min(2 * now, MAX_MS);
    return now;
  }

  reset(): void {
    this.#ms = FIRST_MS;
  }
}
