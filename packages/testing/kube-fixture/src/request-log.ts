import type { AttributedRequest } from './faults.ts';

/** One request that a server received. */
export interface LoggedRequest extends AttributedRequest {
  /** Milliseconds since the Unix epoch. */
  readonly at: number;
  readonly bodyBytes: number;
  /** HTTP status; undefined while it is served, and if it got no response. */
  readonly status?: number;
  /** Duration in milliseconds; of a watch: how long it was open. */
  readonly durationMs?: number;
}

/** All requests in the order of their arrival. */
export class RequestLog {
  readonly #entries: LoggedRequest[] = [];
  readonly #listeners = new Set<() => void>();

  get entries(): readonly LoggedRequest[] {
    return this.#entries;
  }

  /** Returns a function that records the result. */
  add(entry: LoggedRequest): (outcome: Pick<LoggedRequest, 'status' | 'durationMs'>) => void {
    const place = this.#entries.push(entry) - 1;
    this.#notify();
    return (outcome) => {
      this.#entries[place] = { ...entry, ...outcome };
      this.#notify();
    };
  }

  /** Calls back when a request has arrived or ended. Returns a function that ends this. */
  follow(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  #notify(): void {
    for (const listener of [...this.#listeners]) listener();
  }
}
