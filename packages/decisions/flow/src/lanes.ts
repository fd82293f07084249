/** One lane for each key: the actions of a lane run one after the other, in order. Lanes do not wait for each other. */
export class Lanes {
  readonly #tails = new Map<string, Promise<unknown>>();

  /** Whether an action is running or waiting in the lane. */
  isBusy(key: string): boolean {
    return this.#tails.has(key);
  }

  /** Runs `action` after those before it in the lane have succeeded or failed, and settles with its result. */
  async run<T>(key: string, action: () => Promise<T>): Promise<T> {
    const before = this.#tails.get(key) ?? Promise.resolve();
    const own = before.then(action, action);
    this.#tails.set(key, own);
    try {
      return await own;
    } finally {
      if (this.#tails.get(key) === own) this.#tails.delete(key);
    }
  }

  /** As {@link run}, for an action that needs several lanes. They are entered in one order, so that no two actions wait for each other. */
  runInAll<T>(keys: readonly string[], action: () => Promise<T>): Promise<T> {
    const [first, ...others] = [...new Set(keys)].toSorted();
    return first === undefined ? action() : this.run(first, () => this.runInAll(others, action));
  }
}
