import { type Cancel, type Clock, type Logger, toError } from '@kubus/ports';
import { type FSWatcher, watch } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { dirname } from 'node:path';

/** How long until a change is noticed that the kernel did not report, in milliseconds, as in the reference. */
const LOOK_MS = 60_000;

/**
 * Reports when the texts of files have changed. Their folders are watched, so that it does not matter whether they are
 * written in place, replaced, or swapped by a link as in a Secret's volume.
 */
export class FollowedFiles {
  readonly #paths: readonly string[];
  readonly #clock: Clock;
  readonly #logger: Logger;
  readonly #changed: (texts: readonly string[]) => void;
  readonly #watchers: FSWatcher[] = [];
  #texts: readonly string[];
  #reading: Promise<void> | undefined;
  #again = false;
  #cancel: Cancel | undefined;
  #closed = false;

  private constructor(
    paths: readonly string[],
    texts: readonly string[],
    options: { clock: Clock; logger: Logger; changed: (texts: readonly string[]) => void },
  ) {
    this.#paths = paths;
    this.#texts = texts;
    this.#clock = options.clock;
    this.#logger = options.logger;
    this.#changed = options.changed;
    for (const folder of new Set(paths.map((path) => dirname(path)))) this.#watch(folder);
    this.#look();
  }

  /**
   * Rejects when one of the files cannot be read at the start.
   *
   * @param options.changed receives the texts in the order of the paths; when it throws, they are logged as unusable
   */
  static async open(
    paths: readonly string[],
    options: { clock: Clock; logger: Logger; changed: (texts: readonly string[]) => void },
  ): Promise<FollowedFiles> {
    return new FollowedFiles(paths, await readAll(paths), options);
  }

  /** The texts at the last reading. */
  get texts(): readonly string[] {
    return this.#texts;
  }

  async close(): Promise<void> {
    this.#closed = true;
    this.#cancel?.();
    for (const watcher of this.#watchers) watcher.close();
    await this.#reading;
  }

  #watch(folder: string): void {
    const failed = (thrown: unknown) =>
      this.#logger.warn({ path: folder, err: toError(thrown) }, 'watching a folder failed; it is read every minute');
    try {
      const watcher = watch(folder, () => this.#look());
      watcher.on('error', failed);
      this.#watchers.push(watcher);
    } catch (error) {
      failed(error);
    }
  }

  #look(): void {
    if (this.#closed) return;
    this.#again = true;
    this.#reading ??= this.#readWhileAsked().finally(() => {
      this.#reading = undefined;
    });
  }

  async #readWhileAsked(): Promise<void> {
    while (this.#again && !this.#closed) {
      this.#again = false;
      this.#cancel?.();
      this.#cancel = this.#clock.after(LOOK_MS, () => this.#look());
      await this.#read();
    }
  }

  async #read(): Promise<void> {
    try {
      const texts = await readAll(this.#paths);
      if (this.#closed || texts.every((text, index) => text === this.#texts[index])) return;
      this.#texts = texts;
      this.#changed(texts);
    } catch (error) {
      // For example a certificate that was written before its key; the next change follows.
      this.#logger.warn({ paths: this.#paths, err: toError(error) }, 'changed files are not valid yet');
    }
  }
}

function readAll(paths: readonly string[]): Promise<string[]> {
  return Promise.all(paths.map((path) => readFile(path, 'utf8')));
}
