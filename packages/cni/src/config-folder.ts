import { type Dirent, type FSWatcher, watch } from 'node:fs';
import { readFile, readdir } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { type ConfigFile, isConfigFileName } from '@kubus/cni-config';
import { type Cancel, type Clock, type Logger, hasErrno, toError } from '@kubus/ports';

export interface ConfigFolderOptions {
  readonly clock: Clock;
  readonly logger: Logger;
  /** Called with all configuration files when they have been read first, and whenever one of them has changed. */
  readonly onFiles: (files: readonly ConfigFile[]) => void;
  /** Milliseconds between two reads without a sign of change (a missed one, a folder that appears). Default: 10 s. */
  readonly rereadMs?: number;
}

/**
 * Watches a folder of network configurations, which may be missing. The kernel's notices tell when to look; what counts
 * is what is read then. Reading also happens from time to time, so that a lost notice only costs time.
 */
export function watchConfigFolder(folder: string, options: ConfigFolderOptions): Cancel {
  const watched = new WatchedFolder(folder, options);
  watched.look();
  return () => watched.stop();
}

class WatchedFolder {
  readonly #folder: string;
  readonly #options: ConfigFolderOptions;
  #reported: string | undefined;
  #watcher: FSWatcher | undefined;
  #cancelReread: Cancel | undefined;
  #reading = false;
  #lookAgain = false;
  #stopped = false;

  constructor(folder: string, options: ConfigFolderOptions) {
    this.#folder = folder;
    this.#options = options;
  }

  /** Reads now, or once more when a read is under way. */
  look(): void {
    if (this.#reading || this.#stopped) {
      this.#lookAgain = true;
      return;
    }
    this.#reading = true;
    this.#lookAgain = false;
    this.#cancelReread?.();
    this.#watchBeforeReading();
    void this.#readAndReport();
  }

  stop(): void {
    this.#stopped = true;
    this.#cancelReread?.();
    this.#watcher?.close();
  }

  async #readAndReport(): Promise<void> {
    const { clock, onFiles, rereadMs = 10_000 } = this.#options;
    const files = await this.#read();
    this.#reading = false;
    if (this.#stopped) {
      return;
    }
    const content = JSON.stringify(files);
    if (files !== undefined && content !== this.#reported) {
      this.#reported = content;
      onFiles(files);
    }
    if (this.#lookAgain) {
      this.look();
    } else {
      this.#cancelReread = clock.after(rereadMs, () => this.look());
    }
  }

  /** Undefined when the folder cannot be read: that says nothing about its files, so what was reported stays in force. */
  async #read(): Promise<ConfigFile[] | undefined> {
    try {
      return await readConfigFiles(this.#folder);
    } catch (error) {
      const fields = { err: toError(error), folder: this.#folder };
      this.#options.logger.warn(fields, 'the folder of network configurations cannot be read');
      return undefined;
    }
  }

  /** Watches the folder, or while it is missing the one above it, from before the read so that no change falls between. */
  #watchBeforeReading(): void {
    this.#watcher?.close();
    this.#watcher = this.#tryWatch(this.#folder) ?? this.#tryWatch(dirname(this.#folder));
  }

  #tryWatch(folder: string): FSWatcher | undefined {
    try {
      const watcher = watch(folder, () => this.look());
      watcher.on('error', (error) => this.#options.logger.warn({ err: error, folder }, 'watching a folder failed'));
      return watcher;
    } catch {
      return undefined; // Missing, or the machine has no watches left: the slow read finds changes too.
    }
  }
}

/** Every configuration file of the folder by name; none when the folder is missing. */
async function readConfigFiles(folder: string): Promise<ConfigFile[]> {
  const entries = await listFolder(folder);
  const names = entries.filter((entry) => !entry.isDirectory()).map(({ name }) => name);
  return Promise.all(
    names
      .filter(isConfigFileName)
      .sort()
      .map((name) =>
        readFile(join(folder, name), 'utf8').then(
          (content) => ({ name, content }),
          (error: unknown) => ({ name, unreadable: toError(error).message }),
        ),
      ),
  );
}

async function listFolder(folder: string): Promise<Dirent[]> {
  try {
    return await readdir(folder, { withFileTypes: true });
  } catch (error) {
    if (hasErrno(error, 'ENOENT')) return [];
    throw error;
  }
}
