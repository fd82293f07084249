import type { Cancel, Clock } from '@kubus/ports';

/**
 * One life of a process in the simulation. When it is killed, nothing that it waits for ever happens to it: timers do not
 * fire and promises do not settle, as if the machine had stopped between two of its steps.
 */
export class ProcessGuard {
  #alive = true;

  get alive(): boolean {
    return this.#alive;
  }

  kill(): void {
    this.#alive = false;
  }

  clock(clock: Clock): Clock {
    return {
      now: () => clock.now(),
      after: (ms, action): Cancel => {
        if (!this.#alive) return () => undefined;
        return clock.after(ms, () => {
          if (this.#alive) action();
        });
      },
    };
  }

  /** The outcome of `work`, as long as the process lives. */
  async promise<T>(work: Promise<T>): Promise<T> {
    try {
      const value = await work;
      if (this.#alive) return value;
    } catch (error) {
      if (this.#alive) throw error;
    }
    return new Promise(() => undefined);
  }

  listener<A extends unknown[]>(listener: (...values: A) => void): (...values: A) => void {
    return (...values) => {
      if (this.#alive) listener(...values);
    };
  }
}
