/** Lets actions under the same key run one after the other. */
export class Turns {
  readonly #last = new Map<string, Promise<unknown>>();

  /** Whether an action under the key runs or waits. */
  isBusy(key: string): boolean {
    return this.#last.has(key);
  }

  /** Runs `action` after those before it, however they end. */
  async run<T>(key: string, action: () => Promise<T>): Promise<T> {
    const before = this.#last.get(key) ?? Promise.resolve();
    const own = before.then(action, action);
    this.#last.set(key, own);
    try {
      return await own;
    } finally {
      if (this.#last.get(key) === own) this.#last.delete(key);
    }
  }
}
