/** connecting: not known yet. connected: the runtime answers. lost: it does not; the client keeps trying. */
export type CriConnection = 'connecting' | 'connected' | 'lost';

/** Combines the states of parts that must all work into one. */
export class ConnectionState<Part extends string> {
  readonly #works: Map<Part, boolean | undefined>;
  readonly #listeners = new Set<(connection: CriConnection) => void>();
  #current: CriConnection = 'connecting';

  constructor(parts: readonly Part[]) {
    this.#works = new Map(parts.map((part) => [part, undefined]));
  }

  get current(): CriConnection {
    return this.#current;
  }

  set(part: Part, works: boolean): void {
    this.#works.set(part, works);
    const all = [...this.#works.values()];
    const unlessLost = all.includes(undefined) ? 'connecting' : 'connected';
    const next = all.includes(false) ? 'lost' : unlessLost;
    if (next !== this.#current) {
      this.#current = next;
      this.#listeners.forEach((listener) => listener(next));
    }
  }

  /** Calls the listener with the current state and on each change. Returns the function that ends it. */
  watch(listener: (connection: CriConnection) => void): () => void {
    this.#listeners.add(listener);
    listener(this.#current);
    return () => this.#listeners.delete(listener);
  }

  /** From here on no listener is called. */
  close(): void {
    this.#listeners.clear();
  }
}
