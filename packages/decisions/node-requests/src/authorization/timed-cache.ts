interface Entry<Value> {
  readonly value: Value;
  readonly until: number;
}

/** Values that expire. When there are more than `size`, the one that was set longest ago is removed. */
export class TimedCache<Value> {
  readonly #size: number;
  readonly #entries = new Map<string, Entry<Value>>();

  constructor(size: number) {
    this.#size = size;
  }

  /** @param now milliseconds, of the same clock as in {@link set} */
  get(key: string, now: number): Value | undefined {
    const entry = this.#entries.get(key);
    if (entry === undefined || now < entry.until) return entry?.value;
    this.#entries.delete(key);
    return undefined;
  }

  /** @param holdsMs milliseconds from `now` until it expires; 0: it is not stored */
  set(key: string, value: Value, now: number, holdsMs: number): void {
    this.#entries.delete(key);
    if (holdsMs <= 0) return;
    this.#entries.set(key, { value, until: now + holdsMs });
    const [oldest] = this.#entries.keys();
    if (this.#entries.size > this.#size && oldest !== undefined) this.#entries.delete(oldest);
  }
}
