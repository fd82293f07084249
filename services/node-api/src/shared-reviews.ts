import { TimedCache } from '@kubus/node-authorization';
import type { Clock } from '@kubus/ports';

/** How long an answer of the API server is waited for, milliseconds. */
export const REVIEW_MS = 10_000;

/** Answers that are remembered at most. */
const SIZE = 8_192;

/** Answers of the API server: each is kept for a while, and asked for once however many wait for it. */
export class SharedReviews<Answer> {
  readonly #clock: Clock;
  readonly #holdsMs: (answer: Answer) => number;
  readonly #known = new TimedCache<{ readonly answer: Answer }>(SIZE);
  readonly #asked = new Map<string, Promise<Answer>>();

  /** @param holdsMs how long an answer is good, milliseconds */
  constructor(clock: Clock, holdsMs: (answer: Answer) => number) {
    this.#clock = clock;
    this.#holdsMs = holdsMs;
  }

  /** Errors are not kept. */
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
