/** A compact index of values by message id: of an id only its final number is stored. */
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

/** A publisher and its epoch (`<source>.<epoch>`), and the sequence number of the message. */
function partsOf(id: string): [life: string, number: number] {
  const dot = id.lastIndexOf('.');
  return [id.slice(0, dot), Number(id.slice(dot + 1))];
}
