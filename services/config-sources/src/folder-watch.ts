import { type Logger, hasErrno, toError } from '@kubus/ports';
import { type FSWatcher, watch } from 'node:fs';
import { type WatchedFolder, foldersToWatch } from './watched-folders.ts';

/**
 * Reports possible changes at a path, including its parent folders and links. A kernel watch stays on the folder that
 * it was opened on, so after a change to a parent all watches are opened again before the change is reported: a reader
 * then misses nothing. A folder that cannot be watched is logged; its changes are only seen by the periodic reads.
 */
export class FolderWatch {
  readonly #path: string;
  readonly #listener: () => void;
  readonly #logger: Logger;
  #watchers: FSWatcher[] = [];
  /** How often each name of the folder was created or removed since the last call. */
  #moves = new Map<string, number>();
  #opening = false;
  #wayChanged = false;
  #closed = false;

  constructor(path: string, listener: () => void, logger: Logger) {
    this.#path = path;
    this.#listener = listener;
    this.#logger = logger;
    this.#reopen();
  }

  /**
   * The names that were created or removed more than once since the last call. A file that exists before and after was
   * removed in between, while one that is replaced by a rename was created once.
   */
  takeMoved(): ReadonlySet<string> {
    const moved = [...this.#moves].filter(([, times]) => times > 1).map(([name]) => name);
    this.#moves.clear();
    return new Set(moved);
  }

  close(): void {
    this.#closed = true;
    this.#closeAll();
  }

  #reopen(): void {
    this.#wayChanged = true;
    if (this.#opening) return;
    this.#opening = true;
    this.#openAll().then(
      () => {
        this.#opening = false;
        if (!this.#closed) this.#listener();
      },
      (thrown: unknown) => {
        this.#opening = false;
        this.#failed(this.#path, toError(thrown));
      },
    );
  }

  async #openAll(): Promise<void> {
    while (this.#wayChanged && !this.#closed) {
      this.#wayChanged = false;
      const folders = await foldersToWatch(this.#path);
      this.#closeAll();
      // From the root down: a swap below a folder that is already watched is seen, ...
      for (const [folder, what] of folders) this.#watch(folder, what);
      // ... and an earlier swap shows in the path as it is resolved now.
      if (!sameFolders(folders, await foldersToWatch(this.#path))) this.#wayChanged = true;
    }
  }

  #watch(folder: string, what: WatchedFolder): void {
    if (this.#closed) return;
    try {
      const watcher = watch(folder, (type, name) => {
        if (this.#closed) return;
        const onTheWay = name === null || what.names.has(name);
        if (onTheWay && type === 'rename') this.#reopen();
        else if (onTheWay || (what.content && !isHidden(name))) {
          if (name !== null && type === 'rename') this.#moves.set(name, (this.#moves.get(name) ?? 0) + 1);
          this.#listener();
        }
      });
      watcher.on('error', (error) => this.#failed(folder, error));
      this.#watchers.push(watcher);
    } catch (thrown) {
      // If it was removed already, the path has changed, and the comparison after opening finds that.
      if (!hasErrno(thrown, 'ENOENT')) this.#failed(folder, toError(thrown));
    }
  }

  #failed(folder: string, error: Error): void {
    if (!this.#closed) this.#logger.warn({ path: folder, err: error }, 'a manifest folder cannot be watched');
  }

  #closeAll(): void {
    for (const watcher of this.#watchers) watcher.close();
    this.#watchers = [];
  }
}

/** Names that are not manifests; a ConfigMap volume's files lead through `..data`. */
function isHidden(name: string): boolean {
  return name.startsWith('.') && !name.startsWith('..');
}

function sameFolders(a: ReadonlyMap<string, unknown>, b: ReadonlyMap<string, unknown>): boolean {
  return a.size === b.size && [...a.keys()].every((folder) => b.has(folder));
}
