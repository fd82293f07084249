import { TimedCache } from '@kubus/node-requests';
import type { Clock } from '@kubus/ports';

/** How long an answer of the API server is awaited, in milliseconds. */
export const REVIEW_MS = 10_000;

/** The maximum number of cached answers. */
const SIZE = 8_192;

/** Answers of the API server: each is cached for a while, and requested once for all requests that wait for it. */
export class SharedReviews<Answer> {
  readonly #clock: Clock;
  readonly #holdsMs: (answer: Answer) => number;
  readonly #known = new TimedCache<{ readonly answer: Answer }>(SIZE);
  readonly #asked = new Map<string, Promise<Answer>>();

  /** @param holdsMs how long an answer is valid, in milliseconds */
  constructor(clock: Clock, holdsMs: (answer: Answer) => number) {
    this.#clock = clock;
    this.#holdsMs = holdsMs;
  }

  /** Errors are not cached. */
  get(key: string, ask: () => Promise<Answer>): Promise<Answer> {
    const known = this.#known.get(key, this.#clock.now());
    if (known !== undefined) return Promise.resolve(known.answer);
    const asked = this.#asked.get(key) ?? this.#ask(key, ask);
    this.#asked.set(key, asked);
    return asked;
  }

  async #ask(key: string, ask: () => Promise<Answer>): Promise<Answer> {
    try {
      const answer = await ask();
      this.#known.set(key, { answer }, this.#clock.now(), this.#holdsMs(answer));
      return answer;
    } finally {
      this.#asked.delete(key);
    }
  }
}
