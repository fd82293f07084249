import { LogUnavailable } from '@kubus/container-log';
import { toError } from '@kubus/ports';
import { type FSWatcher, watch } from 'node:fs';

/** A change that no notice came for is seen after this, in milliseconds. */
const LOOK_MS = 1_000;

/** Waits for changes of the files of a folder, and for signals. */
export class Changes {
  readonly #watcher: FSWatcher;
  readonly #signals: readonly AbortSignal[];
  #changed = false;
  #wake: () => void = () => undefined;
  readonly #notice = () => {
    this.#changed = true;
    this.#wake();
  };

  /** Throws {@link LogUnavailable} when there is no such folder. */
  constructor(folder: string, signals: readonly AbortSignal[]) {
    this.#signals = signals;
    try {
      this.#watcher = watch(folder, this.#notice);
    } catch (error) {
      throw new LogUnavailable(`the logs in ${folder} can not be followed: ${toError(error).message}`, {
        cause: error,
      });
    }
    // The folder goes with its pod, and the notices with it: the looks go on.
    this.#watcher.on('error', this.#notice);
    for (const signal of signals) signal.addEventListener('abort', this.#notice);
  }

  /** Resolves after the next change since the last one that was waited for, or after `ms` milliseconds without one. */
  async next(ms = LOOK_MS): Promise<void> {
    if (!this.#changed) {
      await new Promise<void>((resolve) => {
        const late = setTimeout(resolve, ms);
        this.#wake = () => {
          clearTimeout(late);
          resolve();
        };
      });
    }
    this.#changed = false;
  }

  close(): void {
    for (const signal of this.#signals) signal.removeEventListener('abort', this.#notice);
    this.#watcher.close();
  }
}
