import type { ArrivedRequest, Outcome } from '@kubus/kube-server';

/** One request that a server received; without a result while it is served. */
export type LoggedRequest = ArrivedRequest & Partial<Outcome>;

/** All requests in the order of their arrival. */
export class RequestLog {
  readonly #entries: LoggedRequest[] = [];
  readonly #listeners = new Set<() => void>();

  get entries(): readonly LoggedRequest[] {
    return this.#entries;
  }

  /** Returns a function that records the result. */
  add(entry: ArrivedRequest): (outcome: Outcome) => void {
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
