import type { Random, RecordStore } from '@kubus/ports';
import type { ProcessGuard } from './process-guard.ts';
import type { Scheduler } from './scheduler.ts';

/** The node's disk: its content outlives every process. */
export class Disk {
  readonly #scheduler: Scheduler;
  readonly #random: Random;
  readonly #folders = new Map<string, Map<string, string>>();
  readonly #observers = new Set<(folder: string, key: string, value: unknown) => void>();

  constructor(options: { scheduler: Scheduler; random: Random }) {
    this.#scheduler = options.scheduler;
    this.#random = options.random;
  }

  /** Calls the observer with each record that was written. */
  observe(observer: (folder: string, key: string, value: unknown) => void): void {
    this.#observers.add(observer);
  }

  /** Keys of the records in a folder. */
  keys(folder: string): string[] {
    return [...(this.#folders.get(folder)?.keys() ?? [])];
  }

  /** A record; undefined: there is none. */
  value(folder: string, key: string): unknown {
    const text = this.#folders.get(folder)?.get(key);
    return text === undefined ? undefined : JSON.parse(text);
  }

  /** A process's folder of records. A write that a crash interrupts is either complete or did not happen. */
  store(folder: string, guard: ProcessGuard): RecordStore {
    const records = this.#folders.get(folder) ?? new Map<string, string>();
    this.#folders.set(folder, records);
    const write = (apply: () => void) =>
      guard.promise(
        new Promise<void>((resolve) => {
          this.#scheduler.after(this.#random.between(0.1, 1), () => {
            if (guard.alive || this.#random.chance(0.5)) apply();
            resolve();
          });
        }),
      );
    return {
      load: () =>
        guard.promise(
          Promise.resolve(new Map([...records].map(([key, text]): [string, unknown] => [key, JSON.parse(text)]))),
        ),
      keys: () => guard.promise(Promise.resolve([...records.keys()])),
      read: (key) => {
        const text = records.get(key);
        return guard.promise(Promise.resolve(text === undefined ? undefined : (JSON.parse(text) as unknown)));
      },
      put: (key, value) => {
        const text = JSON.stringify(value);
        return write(() => {
          records.set(key, text);
          for (const observer of this.#observers) observer(folder, key, JSON.parse(text));
        });
      },
      delete: (key) => write(() => records.delete(key)),
    };
  }
}
