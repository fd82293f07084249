import type { Cancel, Clock } from './clock.ts';
import type { RecordStore } from './record-store.ts';

/** A clock that only the test moves. It begins at `start`, milliseconds since the Unix epoch. */
export class ManualClock implements Clock {
  #now: number;
  #timers: { readonly at: number; readonly action: () => void }[] = [];

  constructor(start = Date.UTC(2030, 0, 1)) {
    this.#now = start;
  }

  now(): number {
    return this.#now;
  }

  after(ms: number, action: () => void): Cancel {
    const timer = { at: this.#now + Math.max(0, ms), action };
    this.#timers.push(timer);
    return () => {
      this.#timers = this.#timers.filter((other) => other !== timer);
    };
  }

  /** Milliseconds until each timer that is set, the next one first. */
  get waits(): number[] {
    return this.#timers.map(({ at }) => at - this.#now).sort((a, b) => a - b);
  }

  /** Lets `ms` milliseconds pass: what is due runs in order of time, and what each starts runs before the next one. */
  async advance(ms: number): Promise<void> {
    const end = this.#now + ms;
    for (;;) {
      await settled();
      const [next] = this.#timers.filter(({ at }) => at <= end).sort((a, b) => a.at - b.at);
      if (next === undefined) break;
      this.#timers = this.#timers.filter((other) => other !== next);
      this.#now = next.at;
      next.action();
    }
    this.#now = end;
  }
}

/** How many steps of promises may follow one another until {@link settled} takes them for settled. */
const STEPS = 200;

/** Resolves after everything that waits for promises alone, not for timers or the outside, has run. */
export async function settled(): Promise<void> {
  for (let step = 0; step < STEPS; step++) await Promise.resolve();
}

/** Records in memory, as JSON text like on a disk. */
export class MemoryRecords implements RecordStore {
  readonly #records = new Map<string, string>();
  /** What the next writes fail with, if they are to. */
  failure: Error | undefined;

  load(): Promise<Map<string, unknown>> {
    return Promise.resolve(new Map([...this.#records].map(([key, text]) => [key, JSON.parse(text) as unknown])));
  }

  keys(): Promise<string[]> {
    return Promise.resolve([...this.#records.keys()]);
  }

  read(key: string): Promise<unknown> {
    const text = this.#records.get(key);
    return Promise.resolve(text === undefined ? undefined : (JSON.parse(text) as unknown));
  }

  put(key: string, value: unknown): Promise<void> {
    if (this.failure !== undefined) return Promise.reject(this.failure);
    this.#records.set(key, JSON.stringify(value));
    return Promise.resolve();
  }

  delete(key: string): Promise<void> {
    this.#records.delete(key);
    return Promise.resolve();
  }
}

/** What tests wait for that nobody announces by itself: whoever changes something has it looked at again. */
export class Conditions {
  readonly #waiting = new Set<() => void>();

  /** Looks again whether what is waited for holds. */
  look(): void {
    for (const waiting of [...this.#waiting]) waiting();
  }

  /** Resolves when `condition` holds: now, or when it is looked at again. */
  until(condition: () => boolean): Promise<void> {
    return new Promise((resolve) => {
      const look = () => {
        if (!condition()) return;
        this.#waiting.delete(look);
        resolve();
      };
      this.#waiting.add(look);
      look();
    });
  }
}
