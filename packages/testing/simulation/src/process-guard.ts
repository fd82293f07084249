import { type Cancel, type Clock, toError } from '@kubus/ports';

/**
 * One life of a process in the simulation. When it is killed, nothing that it waits for ever completes: timers do not
 * fire and promises do not settle, as if the machine had stopped between two of its steps.
 */
export class ProcessGuard {
  #alive = true;
  #halted = false;
  /** The actions that arrived while the process was halted, and are not done yet. */
  readonly #held: (() => void)[] = [];

  get alive(): boolean {
    return this.#alive;
  }

  kill(): void {
    this.#alive = false;
  }

  /** Halts the process, as SIGSTOP does: its actions wait until it continues. */
  halt(): void {
    this.#halted = true;
  }

  /** Continues the process, which runs the missed actions one after another. */
  goOn(clock: Clock): void {
    this.#halted = false;
    this.#catchUp(clock);
  }

  /** Runs an action in the process: at once, when it continues, or never. */
  run(action: () => void): void {
    if (this.#halted || this.#held.length > 0) this.#held.push(action);
    else if (this.#alive) action();
  }

  #catchUp(clock: Clock): void {
    const next = this.#halted || !this.#alive ? undefined : this.#held[0];
    if (next === undefined) return;
    next();
    // Only at this point, so that what it makes ready runs after what has already waited.
    this.#held.shift();
    clock.after(0, () => this.#catchUp(clock));
  }

  clock(clock: Clock): Clock {
    return {
      now: () => clock.now(),
      after: (ms, action): Cancel => {
        if (!this.#alive) return () => undefined;
        let cancelled = false;
        const cancel = clock.after(ms, () => {
          this.run(() => {
            if (!cancelled) action();
          });
        });
        return () => {
          cancelled = true;
          cancel();
        };
      },
    };
  }

  /** The outcome of `work`, as long as the process runs. */
  promise<T>(work: Promise<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      work.then(
        (value) => this.run(() => resolve(value)),
        (error: unknown) => this.run(() => reject(toError(error))),
      );
    });
  }

  listener<A extends unknown[]>(listener: (...values: A) => void): (...values: A) => void {
    return (...values) => {
      this.run(() => listener(...values));
    };
  }
}
