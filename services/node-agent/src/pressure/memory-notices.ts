import { MemoryWatch } from '@kubus/cgroup';
import { type Observations, type Threshold, roomFor } from '@kubus/eviction';
import type { Logger } from '@kubus/ports';

const SIGNALS = ['memory.available', 'allocatableMemory.available'] as const;

export interface MemoryNoticesOptions {
  readonly logger: Logger;
  /** See `MemoryWatch`. Undefined: nothing is waited for. */
  readonly program: string | undefined;
  /** The folder of the control group of each signal. */
  readonly folders: Readonly<Record<(typeof SIGNALS)[number], string>>;
  /** So much more memory is used that a threshold may be met. */
  readonly reached: () => void;
}

/** Waits between two readings for the kernel to say that memory is short (kernelMemcgNotification). */
export class MemoryNotices {
  readonly #options: MemoryNoticesOptions;
  readonly #watches = new Map<string, MemoryWatch>();

  constructor(options: MemoryNoticesOptions) {
    this.#options = options;
  }

  /** From now on what is left until the next threshold, as of this reading. */
  waitFor(reading: Observations, thresholds: readonly Threshold[]): void {
    const { program } = this.#options;
    if (program === undefined) return;
    for (const signal of SIGNALS) {
      const observed = reading[signal];
      const room = observed && roomFor(signal, thresholds, observed);
      if (room !== undefined) this.#watch(program, signal).set(room);
    }
  }

  stop(): void {
    for (const watch of this.#watches.values()) watch.stop();
  }

  #watch(program: string, signal: (typeof SIGNALS)[number]): MemoryWatch {
    const { logger, folders, reached } = this.#options;
    const present = this.#watches.get(signal);
    if (present !== undefined) return present;
    const folder = folders[signal];
    const failed = (message: string) =>
      logger.warn({ signal, error: message }, 'the kernel does not say when memory is short: it is read every 10 s');
    const watch = new MemoryWatch({ program, folder, reached, failed });
    this.#watches.set(signal, watch);
    return watch;
  }
}
