/** Gives a turn back; harmless when called again. */
export type Release = () => void;

/** A bounded number of turns, given in the order in which they were asked for. */
export class Turns {
  readonly #limit: number;
  readonly #queue: ((release: Release) => void)[] = [];
  #taken = 0;

  constructor(limit: number) {
    this.#limit = limit;
  }

  /** How many turns are taken, and how many callers wait for one. */
  get load(): { running: number; waiting: number } {
    return { running: this.#taken, waiting: this.#queue.length };
  }

  take(): Promise<Release> {
    return new Promise((resolve) => {
      this.#queue.push(resolve);
      this.#give();
    });
  }

  /** Runs `action` in a turn. */
  async run<Result>(action: () => Promise<Result>): Promise<Result> {
    const release = await this.take();
    try {
      return await action();
    } finally {
      release();
    }
  }

  /**
   * Runs `action` while nobody else has a turn. Callers see to it that there is one such at a time: two would each hold
   * turns that the other waits for.
   */
  async runAlone<Result>(action: () => Promise<Result>): Promise<Result> {
    const releases = await Promise.all(Array.from({ length: this.#limit }, () => this.take()));
    try {
      return await action();
    } finally {
      releases.forEach((release) => release());
    }
  }

  #give(): void {
    while (this.#taken < this.#limit) {
      const next = this.#queue.shift();
      if (next === undefined) {
        return;
      }
      this.#taken += 1;
      let released = false;
      next(() => {
        if (!released) {
          released = true;
          this.#taken -= 1;
          this.#give();
        }
      });
    }
  }
}
