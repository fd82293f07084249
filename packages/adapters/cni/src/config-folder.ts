import { type Dirent, type FSWatcher, watch } from 'node:fs';
import { readFile, readdir } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { type ConfigFile, isConfigFileName } from '@kubus/cni-config';
import { type Cancel, type Clock, type Logger, hasErrno, toError } from '@kubus/ports';

export interface ConfigFolderOptions {
  readonly clock: Clock;
  readonly logger: Logger;
  /** Called with all configuration files after the first read, and whenever one of them has changed. */
  readonly onFiles: (files: readonly ConfigFile[]) => void;
  /**
   * Milliseconds between two reads without a notification, for missed changes and for a folder that is created later.
   * Default: 10 s.
   */
  readonly rereadMs?: number;
}

/**
 * Watches a folder of network configurations, which may be missing. The kernel's notifications (inotify) trigger a read of
 * the whole folder. The folder is also read periodically, so that a lost notification only costs time.
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

  /** Reads now, or once more if a read is already running. */
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

  /** Undefined when the folder cannot be read: that says nothing about its files, so the last report stays valid. */
  async #read(): Promise<ConfigFile[] | undefined> {
    try {
      return await readConfigFiles(this.#folder);
    } catch (error) {
      const fields = { err: toError(error), folder: this.#folder };
      this.#options.logger.warn(fields, 'the folder of network configurations cannot be read');
      return undefined;
    }
  }

  /** Watches the folder, or its parent while it is missing, starting before the read so that no change is missed. */
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
      return undefined; // Missing, or the machine has no watches left: the periodic read finds changes too.
    }
  }
}

/** Every configuration file of the folder by name; none if the folder is missing. */
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
