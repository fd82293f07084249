/** Milliseconds before something that failed is tried again, as the reference waits to register (kubelet behaviour 1.16). */
const FIRST_MS = 100;
const MAX_MS = 7_000;

/** Waits that double with each failure in a row. */
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
