/** Releases the permit to run; further calls do nothing. */
export type Release = () => void;

/** Runs at most `limit` actions at a time. Others wait, and start in the order in which they came. */
export class ConcurrencyLimit {
  readonly #limit: number;
  readonly #queue: (() => void)[] = [];
  #running = 0;

  constructor(limit: number) {
    this.#limit = limit;
  }

  /** The number of actions that are running, and of those that are waiting. */
  get load(): { running: number; waiting: number } {
    return { running: this.#running, waiting: this.#queue.length };
  }

  /** Resolves when an action may start. It counts as running until it is released. */
  async take(): Promise<Release> {
    if (this.#running < this.#limit) this.#running += 1;
    // A released permit goes to the first that waits: no later action can take it in between.
    else await new Promise<void>((resolve) => this.#queue.push(resolve));
    let isReleased = false;
    return () => {
      if (isReleased) return;
      isReleased = true;
      const next = this.#queue.shift();
      if (next === undefined) this.#running -= 1;
      else next();
    };
  }

  /** Runs `action` when it may start, and settles with its result. */
  async run<Result>(action: () => Promise<Result>): Promise<Result> {
    const release = await this.take();
    try {
      return await action();
    } finally {
      release();
    }
  }

  /**
   * Runs `action` while no other action runs. The caller must have only one such action waiting or running at a time: two of them
   * would wait for each other.
   */
  async runAlone<Result>(action: () => Promise<Result>): Promise<Result> {
    const releases = await Promise.all(Array.from({ length: this.#limit }, () => this.take()));
    try {
      return await action();
    } finally {
      releases.forEach((release) => release());
    }
  }
}
