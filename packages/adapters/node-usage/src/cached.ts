import { type Clock, sleep } from '@kubus/ports';

export interface CachedOptions<T> {
  readonly clock: Clock;
  /** How long an answer is valid, in milliseconds. */
  readonly countsMs: number;
  /** How long the caller waits for an answer, in milliseconds. */
  readonly waitMs: number;
  readonly ask: () => Promise<T>;
  /** Called for each request that failed. */
  readonly failed: (error: unknown) => void;
}

/** A value that another process has: requested when it is needed, one request at a time. */
export class Cached<T> {
  readonly #options: CachedOptions<T>;
  #askedAt = -Infinity;
  #asking: Promise<void> | undefined;
  #answer: T | undefined;

  constructor(options: CachedOptions<T>) {
    this.#options = options;
  }

  /** The answer, or the previous one when the request takes too long; undefined when there is none. */
  async get(): Promise<T | undefined> {
    const { clock, countsMs, waitMs } = this.#options;
    if (this.#asking === undefined && clock.now() - this.#askedAt < countsMs) return this.#answer;
    this.#asking ??= this.#ask();
    const enough = new AbortController();
    await Promise.race([this.#asking, sleep(clock, waitMs, enough.signal)]);
    enough.abort();
    return this.#answer;
  }

  async #ask(): Promise<void> {
    const { clock, ask, failed } = this.#options;
    this.#askedAt = clock.now();
    try {
      this.#answer = await ask();
    } catch (error) {
      this.#answer = undefined;
      this.#askedAt = -Infinity;
      failed(error);
    } finally {
      this.#asking = undefined;
    }
  }
}
