import type { Cancel, Clock } from '@kubus/ports';

/** A clock that only the test moves. */
export class ManualClock implements Clock {
  #now = Date.UTC(2026, 0, 1);
  #timers: { at: number; action: () => void }[] = [];

  now(): number {
    return this.#now;
  }

  after(ms: number, action: () => void): Cancel {
    const timer = { at: this.#now + ms, action };
    this.#timers.push(timer);
    return () => {
      this.#timers = this.#timers.filter((other) => other !== timer);
    };
  }

  /** Lets `ms` milliseconds pass; what is due runs in order, and whatever it starts has its turn in between. */
  async advance(ms: number): Promise<void> {
    const end = this.#now + ms;
    for (;;) {
      await settled();
      const next = this.#timers.filter(({ at }) => at <= end).sort((a, b) => a.at - b.at)[0];
      if (next === undefined) break;
      this.#timers = this.#timers.filter((other) => other !== next);
      this.#now = Math.max(this.#now, next.at);
      next.action();
    }
    this.#now = end;
  }

  get pending(): number {
    return this.#timers.length;
  }
}

/** After everything that waits for nothing outside has run. */
export function settled(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
