/** Lets `limit` actions run at once; the others wait in order. */
export class Slots {
  readonly #limit: number;
  readonly #waiting: (() => void)[] = [];
  #taken = 0;

  constructor(limit: number) {
    this.#limit = limit;
  }

  get taken(): number {
    return this.#taken;
  }

  get waiting(): number {
    return this.#waiting.length;
  }

  async run<T>(action: () => Promise<T>): Promise<T> {
    if (this.#taken < this.#limit) this.#taken += 1;
    // A freed slot is handed to the one who waits, so nobody can take it in between.
    else await new Promise<void>((resolve) => this.#waiting.push(resolve));
    try {
      return await action();
    } finally {
      const next = this.#waiting.shift();
      if (next === undefined) this.#taken -= 1;
      else next();
    }
  }
}

/** One lane per pod: what is put into it runs one after another. Lanes do not wait for each other. */
export class Lanes {
  readonly #tails = new Map<string, Promise<unknown>>();

  run<T>(pod: string, action: () => Promise<T>): Promise<T> {
    const before = this.#tails.get(pod) ?? Promise.resolve();
    const result = before.then(action);
    const tail = result
      .catch(() => undefined)
      .then(() => {
        if (this.#tails.get(pod) === tail) this.#tails.delete(pod);
      });
    this.#tails.set(pod, tail);
    return result;
  }
}
