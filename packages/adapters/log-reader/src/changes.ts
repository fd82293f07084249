import { LogUnavailable } from '@kubus/container-log';
import { toError } from '@kubus/ports';
import { type FSWatcher, watch } from 'node:fs';

/** How long a change without a notification stays unnoticed, in milliseconds. */
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
      throw new LogUnavailable(`the logs in ${folder} cannot be followed: ${toError(error).message}`, {
        cause: error,
      });
    }
    // The folder is removed with its pod, which ends the notifications; polling continues.
    this.#watcher.on('error', this.#notice);
    for (const signal of signals) signal.addEventListener('abort', this.#notice);
  }

  /** Resolves after the next change since the last awaited one, or after `ms` milliseconds without one. */
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
