import type { Cancel, Clock } from '@kubus/ports';
import { ManualClock } from '@kubus/ports/testing';

/** From here on the test has to advance a delay; shorter ones, such as those after failures, pass by themselves. */
const LONG_MS = 20_000;

/** A clock that the test advances, for everything that takes long. */
export class TestClock implements Clock {
  /** Short delays pass so many times as fast. */
  hurry = 100;
  // What an API server signs has times of the machine's clock.
  readonly #long = new ManualClock(Date.now());

  now(): number {
    return this.#long.now();
  }

  after(ms: number, action: () => void): Cancel {
    if (ms >= LONG_MS) return this.#long.after(ms, action);
    // Pending timers do not keep the test's process alive.
    const timer = setTimeout(action, ms / this.hurry).unref();
    return () => clearTimeout(timer);
  }

  advance(ms: number): Promise<void> {
    return this.#long.advance(ms);
  }
}
