/** connecting: not known yet. connected: the runtime answers. lost: it does not; the client goes on trying. */
export type CriConnection = 'connecting' | 'connected' | 'lost';

/** One state out of the parts that must all work. */
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

  /** Tells the state now and on each change. The result ends it. */
  watch(listener: (connection: CriConnection) => void): () => void {
    this.#listeners.add(listener);
    listener(this.#current);
    return () => this.#listeners.delete(listener);
  }

  /** Nobody is told anything any more. */
  close(): void {
    this.#listeners.clear();
  }
}
