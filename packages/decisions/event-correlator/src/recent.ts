/** The most recently set values, by key. When there are more than `size` values, the one that was set longest ago is removed. */
export class Recent<Value> {
  readonly #size: number;
  readonly #values = new Map<string, Value>();

  constructor(size: number) {
    this.#size = size;
  }

  get(key: string): Value | undefined {
    return this.#values.get(key);
  }

  set(key: string, value: Value): void {
    this.#values.delete(key);
    this.#values.set(key, value);
    const [oldest] = this.#values.keys();
    if (this.#values.size > this.#size && oldest !== undefined) this.#values.delete(oldest);
  }

  /** Removes the values of all keys that begin with `prefix`. */
  forget(prefix: string): void {
    for (const key of this.#values.keys()) if (key.startsWith(prefix)) this.#values.delete(key);
  }
}
