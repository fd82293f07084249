/** Which holders refer to which objects: an object is needed as long as some holder refers to it. */
export class References<T> {
  readonly #byHolder = new Map<string, ReadonlyMap<string, T>>();
  readonly #counts = new Map<string, number>();

  /** Whether a holder refers to `key`. */
  has(key: string): boolean {
    return this.#counts.has(key);
  }

  /** The keys of all objects to which some holder refers. */
  keys(): Iterable<string> {
    return this.#counts.keys();
  }

  /**
   * Sets the objects to which `holder` refers; empty: the holder is removed.
   *
   * @returns the objects to which no holder referred before, and the keys of those to which none refers any more
   */
  set(holder: string, things: ReadonlyMap<string, T>): { added: ReadonlyMap<string, T>; dropped: readonly string[] } {
    const before = this.#byHolder.get(holder) ?? new Map<string, T>();
    if (things.size > 0) this.#byHolder.set(holder, things);
    else this.#byHolder.delete(holder);
    const added = new Map<string, T>();
    for (const [key, thing] of things) {
      if (before.has(key)) continue;
      const count = this.#counts.get(key) ?? 0;
      if (count === 0) added.set(key, thing);
      this.#counts.set(key, count + 1);
    }
    return { added, dropped: [...before.keys()].filter((key) => !things.has(key) && this.#drop(key)) };
  }

  /** Whether no holder refers to it any more. */
  #drop(key: string): boolean {
    const left = (this.#counts.get(key) ?? 1) - 1;
    if (left > 0) this.#counts.set(key, left);
    else this.#counts.delete(key);
    return left <= 0;
  }
}
