/** What is known of messages by their ids, of any number of them: an id is kept as the number that it ends with. */
export class MessageIndex<T> {
  readonly #lives = new Map<string, Map<number, T>>();

  get(id: string): T | undefined {
    const [life, number] = partsOf(id);
    return this.#lives.get(life)?.get(number);
  }

  set(id: string, value: T): void {
    const [life, number] = partsOf(id);
    const known = this.#lives.get(life);
    if (known === undefined) this.#lives.set(life, new Map([[number, value]]));
    else known.set(number, value);
  }
}

/** A publisher's life (`<source>.<epoch>`) and the running number in it. */
export function partsOf(id: string): [life: string, number: number] {
  const dot = id.lastIndexOf('.');
  return [id.slice(0, dot), Number(id.slice(dot + 1))];
}
