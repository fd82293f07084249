import { type Clock, sleep } from '@kubus/ports';

export interface CachedOptions<T> {
  readonly clock: Clock;
  /** How long an answer counts, in milliseconds. */
  readonly countsMs: number;
  /** How long who asks waits for an answer, in milliseconds. */
  readonly waitMs: number;
  readonly ask: () => Promise<T>;
  /** Told of each answer that did not come. */
  readonly failed: (error: unknown) => void;
}

/** Something that another process knows: asked for when it is needed, one question at a time. */
export class Cached<T> {
  readonly #options: CachedOptions<T>;
  #askedAt = -Infinity;
  #asking: Promise<void> | undefined;
  #answer: T | undefined;

  constructor(options: CachedOptions<T>) {
    this.#options = options;
  }

  /** The answer, or the last one where that takes too long; undefined where there is none. */
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
