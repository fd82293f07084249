import { type Logger, hasErrno, toError } from '@kubus/ports';
import { type FSWatcher, watch } from 'node:fs';
import { type WatchedFolder, foldersToWatch } from './watched-folders.ts';

/**
 * Tells when something at a path may have changed, wherever on the way to it. A watch of the kernel sticks to the folder
 * it was opened on, so after a change on the way all are opened anew before the change is told: whoever reads then
 * misses nothing. What cannot be watched is logged; that part is only seen when somebody reads for another reason.
 */
export class FolderWatch {
  readonly #path: string;
  readonly #listener: () => void;
  readonly #logger: Logger;
  #watchers: FSWatcher[] = [];
  /** How often each name of the folder has come or gone since that was last asked for. */
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
   * The names that have come or gone more than once since the last call. A file that is there before and after was away in
   * between, while one that is replaced by renaming another over it has come once.
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
      // From the root down: what is swapped below a folder after it is watched is seen, ...
      for (const [folder, what] of folders) this.#watch(folder, what);
      // ... and what was swapped before that shows in the way as it is now.
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
      // When it is gone already, the way has changed, and the comparison after opening finds that.
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

/** Names that are no manifests; `..data` is what a ConfigMap volume's files lead through. */
function isHidden(name: string): boolean {
  return name.startsWith('.') && !name.startsWith('..');
}

function sameFolders(a: ReadonlyMap<string, unknown>, b: ReadonlyMap<string, unknown>): boolean {
  return a.size === b.size && [...a.keys()].every((folder) => b.has(folder));
}
