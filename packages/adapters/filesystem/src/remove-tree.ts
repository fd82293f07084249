import { KubusError, hasErrno, toError } from '@kubus/ports';
import { randomUUID } from 'node:crypto';
import { lstat, rename, rmdir, unlink } from 'node:fs/promises';
import { basename, dirname } from 'node:path';
import { AT_ONCE, Held, entries, openFolder } from './held.ts';
import { MountError } from './mount-programs.ts';
import { mountsBelow } from './mount-table.ts';

/** Maximum number of attempts to remove a folder that gets new files meanwhile. */
const ROUNDS = 10;
/** How deep folders are emptied where they are. On the way down two descriptors a level are open. */
const DEEPEST = 16;
/** How many of the entries that cannot be removed are named. */
const NAMED = 3;

/** Thrown when entries cannot be removed, such as immutable files; the message names them. Everything else is removed. */
export class NotRemoved extends KubusError {
  constructor(path: string, left: readonly string[], cause: Error) {
    super('not-removed', `${path} is not removed: ${left.join(', ')}`, { cause, context: { path } });
  }
}

/**
 * Removes a folder with its contents, however deep and wide they are; harmless if it does not exist, or cannot exist because a name
 * is too long. Follows no link. Refuses while anything is mounted at or below it, also by another process: mounted files do not
 * belong to the folder and must not be removed with it. A mount that is made during the removal is not entered either.
 *
 * @param path without symbolic links, as in the mount table
 *
 * Throws {@link MountError} that names the mount, or {@link NotRemoved}.
 */
export async function removeTree(path: string): Promise<void> {
  const [mounted] = await mountsBelow(path);
  if (mounted !== undefined) throw stillMounted(path, `${mounted.target} is a mount (${mounted.type})`);
  const parent = await openParent(path);
  if (parent === undefined) return;
  try {
    await removeFrom(parent, path);
  } finally {
    await parent.close();
  }
}

async function openParent(path: string): Promise<Held | undefined> {
  try {
    return await Held.open(dirname(path), { folder: true });
  } catch (error) {
    if (hasErrno(error, 'ENOENT', 'ENAMETOOLONG')) return undefined;
    throw error;
  }
}

async function removeFrom(parent: Held, path: string): Promise<void> {
  const name = basename(path);
  for (let round = 1; ;) {
    const isFolder = await lstat(parent.at(name)).then(
      (stats) => stats.isDirectory(),
      (error: unknown) => {
        if (hasErrno(error, 'ENOENT', 'ENAMETOOLONG')) return undefined;
        throw error;
      },
    );
    if (isFolder === undefined) return;
    const removal = new Removal(path);
    if (isFolder) await removal.folder(parent, name);
    else await removal.try('file', parent, name);
    removal.check();
    // Raised folders are progress; new files are not.
    if (!removal.raised) round += 1;
    if (round > ROUNDS)
      throw new NotRemoved(path, ['other processes keep creating files in it'], new Error('ENOTEMPTY'));
  }
}

/**
 * One pass over a folder. What is deeper than {@link DEEPEST} is renamed into the folder itself, for the next pass: so neither the
 * number of open descriptors nor the memory depends on the depth, and no path gets too long.
 */
class Removal {
  readonly #path: string;
  readonly #left: string[] = [];
  #cause: Error | undefined;
  #top: Held | undefined;
  raised = false;

  constructor(path: string) {
    this.#path = path;
  }

  /** Throws when something cannot be removed. */
  check(): void {
    if (this.#cause !== undefined) throw new NotRemoved(this.#path, this.#left, this.#cause);
  }

  async folder(parent: Held, name: string, depth = 0): Promise<void> {
    if (depth > DEEPEST && (await this.#raise(parent, name))) return;
    const folder = await openFolder(parent, name);
    // It was replaced meanwhile.
    if (folder === undefined) return this.try('file', parent, name);
    try {
      if (folder.mount !== parent.mount) {
        throw stillMounted(
          this.#path,
          depth === 0 ? 'something is mounted on it' : `something is mounted on ${name} in it`,
        );
      }
      this.#top ??= folder;
      await this.#empty(folder, depth);
      await this.try('folder', parent, name);
    } finally {
      await folder.close();
    }
  }

  async #empty(folder: Held, depth: number): Promise<void> {
    let files: string[] = [];
    const removeFiles = async () => {
      const names = files;
      files = [];
      await Promise.all(names.map((name) => this.try('file', folder, name)));
    };
    for await (const { name, isFolder } of entries(folder)) {
      if (isFolder) await this.folder(folder, name, depth + 1);
      else if (files.push(name) === AT_ONCE) await removeFiles();
    }
    await removeFiles();
  }

  /** Removes one entry. What was replaced or has got new files is left to the next pass. */
  async try(kind: 'file' | 'folder', folder: Held, name: string): Promise<void> {
    try {
      await (kind === 'file' ? unlink(folder.at(name)) : rmdir(folder.at(name)));
    } catch (error) {
      if (!hasErrno(error, 'ENOENT', 'ENOTEMPTY', 'EEXIST', 'ENOTDIR', 'EISDIR'))
        await this.#stuck(folder, name, error);
    }
  }

  /** False when it stays where it is. */
  async #raise(folder: Held, name: string): Promise<boolean> {
    if (this.#top === undefined) return false;
    try {
      await rename(folder.at(name), this.#top.at(`.raised-${randomUUID()}`));
      this.raised = true;
    } catch (error) {
      // Something is mounted on it: opening it says so.
      if (hasErrno(error, 'EBUSY')) return false;
      if (!hasErrno(error, 'ENOENT')) await this.#stuck(folder, name, error);
    }
    return true;
  }

  /** The kernel refuses to remove a mount point (EBUSY), and immutable files (EPERM). */
  async #stuck(folder: Held, name: string, thrown: unknown): Promise<void> {
    const error = toError(thrown);
    this.#cause ??= error;
    if (this.#left.length === NAMED) return;
    // The path may be too long to be read.
    const place = await folder.place().catch(() => '...');
    const code = 'code' in error ? String(error.code) : error.message;
    const hint = code === 'EPERM' ? '; it or its folder may be immutable: see lsattr(1) and chattr(1)' : '';
    if (this.#left.length < NAMED) this.#left.push(`${place}/${name} cannot be removed (${code}${hint})`);
  }
}

function stillMounted(path: string, what: string): MountError {
  return new MountError('still-mounted', `${path} is not removed: ${what}`, { context: { path } });
}
