import type { AttributedRequest } from './faults.ts';

/** One request that a server got. */
export interface LoggedRequest extends AttributedRequest {
  /** Milliseconds since the Unix epoch. */
  readonly at: number;
  readonly bodyBytes: number;
  /** HTTP status; undefined while it is served, and when it got no answer. */
  readonly status?: number;
  /** How long it was served, in milliseconds; of a watch: how long it was open. */
  readonly durationMs?: number;
}

/** All requests in the order in which they came. */
export class RequestLog {
  readonly #entries: LoggedRequest[] = [];
  readonly #listeners = new Set<() => void>();

  get entries(): readonly LoggedRequest[] {
    return this.#entries;
  }

  /** Returns how to write down what became of it. */
  add(entry: LoggedRequest): (outcome: Pick<LoggedRequest, 'status' | 'durationMs'>) => void {
    const place = this.#entries.push(entry) - 1;
    this.#told();
    return (outcome) => {
      this.#entries[place] = { ...entry, ...outcome };
      this.#told();
    };
  }

  /** Calls back when a request has come or ended. Returns how to end that. */
  follow(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  #told(): void {
    for (const listener of [...this.#listeners]) listener();
  }
}
