import { failure } from '@kubus/kube-objects';

/** How many requests and watches of one user are served at once. */
const REQUESTS = 400;
const WATCHES = 1_000;

/** Counts what each user has open. */
export class RequestBounds {
  readonly #open = { requests: new Map<string, number>(), watches: new Map<string, number>() };

  /**
   * A request begins. Returns a function that ends it.
   *
   * @throws StatusError 429 when the user has too many.
   */
  enter(user: string, isWatch: boolean): () => void {
    const counts = isWatch ? this.#open.watches : this.#open.requests;
    const count = counts.get(user) ?? 0;
    if (count >= (isWatch ? WATCHES : REQUESTS)) {
      const message = 'Too many requests, please try again later.';
      throw failure(429, 'TooManyRequests', message, { retryAfterSeconds: 1 });
    }
    counts.set(user, count + 1);
    let isOver = false;
    return () => {
      if (isOver) return;
      isOver = true;
      const left = (counts.get(user) ?? 1) - 1;
      if (left === 0) counts.delete(user);
      else counts.set(user, left);
    };
  }
}
