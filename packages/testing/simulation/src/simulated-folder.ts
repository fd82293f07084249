import type { FolderListing } from '@kubus/config-sources';
import { type Cancel, sleep } from '@kubus/ports';
import type { Scheduler } from './scheduler.ts';

/** The manifest folder: its files outlive every process. */
export class SimulatedFolder {
  /** Path to text. */
  readonly files = new Map<string, string>();
  readonly #scheduler: Scheduler;
  readonly #listeners = new Set<() => void>();

  constructor(scheduler: Scheduler) {
    this.#scheduler = scheduler;
  }

  /** A file has changed. */
  touch(): void {
    for (const listener of [...this.#listeners]) this.#scheduler.after(1, listener);
  }

  onChange(listener: () => void): Cancel {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  async read(): Promise<FolderListing> {
    await sleep(this.#scheduler, 1);
    const files = [...this.files].map(([path, text]) => ({ path, text }));
    return { files: files.sort((a, b) => (a.path < b.path ? -1 : 1)), errors: [], missing: false, returned: new Set() };
  }
}
