import type { Cancel, Clock } from './clock.ts';
import { toError } from './errors.ts';
import type { RecordStore } from './record-store.ts';

/**
 * How long tests wait for what has to happen, in milliseconds. It is no expected duration: a machine may be twenty times slower than
 * another, and only what hangs should fail. Jest's own limit (jest.preset.mjs) is later, so that this one's error says what is missing.
 */
export const HANGING_MS = 480_000;

/** A clock that only the test moves. It starts at `start`, in milliseconds since the Unix epoch. */
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

  /** Milliseconds until each pending timer, the next one first. */
  get waits(): number[] {
    return this.#timers.map(({ at }) => at - this.#now).sort((a, b) => a - b);
  }

  /** Advances the clock by `ms` milliseconds. Due timers run in order of time; what each one starts runs before the next one. */
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

/** The number of successive promise steps after which {@link settled} considers promises settled. */
const STEPS = 200;

/** Resolves after everything has run that waits only for promises and not for timers or I/O. */
export async function settled(): Promise<void> {
  for (let step = 0; step < STEPS; step++) await Promise.resolve();
}

/** Records in memory, stored as JSON text as on a disk. */
export class MemoryRecords implements RecordStore {
  readonly #records = new Map<string, string>();
  /** The error with which the next writes fail. Default: none. */
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

/** Conditions that tests wait for. Each one is checked again after every change. */
export class Conditions {
  readonly #awaited = new Set<() => void>();
  readonly #followers = new Set<() => void>();

  /** To be called after every change. */
  changed(): void {
    for (const follower of [...this.#followers]) follower();
    for (const look of [...this.#awaited]) look();
  }

  /** Calls `follower` after every change, until the returned function is called. */
  follow(follower: () => void): () => void {
    this.#followers.add(follower);
    return () => this.#followers.delete(follower);
  }

  /** Resolves as soon as `condition` holds. */
  async until(condition: () => boolean): Promise<void> {
    await this.find(() => condition() || undefined);
  }

  /**
   * Resolves with the first value other than undefined that `look` returns. Rejects with what `look` throws, and with the reason
   * of `signal` when that aborts.
   */
  find<T>(look: () => T | undefined, signal?: AbortSignal): Promise<T> {
    return new Promise((resolve, reject) => {
      const end = () => {
        this.#awaited.delete(again);
        signal?.removeEventListener('abort', aborted);
      };
      const again = () => {
        try {
          const found = look();
          if (found === undefined) return;
          resolve(found);
        } catch (error) {
          reject(toError(error));
        }
        end();
      };
      const aborted = () => {
        end();
        reject(toError(signal?.reason));
      };
      signal?.addEventListener('abort', aborted);
      this.#awaited.add(again);
      again();
    });
  }
}
