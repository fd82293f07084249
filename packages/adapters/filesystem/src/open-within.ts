import { KubusError, hasErrno } from '@kubus/ports';
import { chmod, mkdir, realpath } from 'node:fs/promises';
import { isAbsolute, join, relative } from 'node:path';
import { Held } from './held.ts';

/**
 * Thrown when a path inside a folder cannot be opened. Neither message nor context contains any part of the path, which
 * may contain
 * a secret value; `errno` in the context is that of the kernel, such as `ENOTDIR`.
 */
export class WithinError extends KubusError {
  /** A missing part should have been created. */
  readonly making: boolean;

  constructor(code: string, message: string, options: { making: boolean; errno?: string }) {
    const { making, errno } = options;
    super(code, message, errno === undefined ? {} : { context: { errno } });
    this.making = making;
  }
}

/**
 * Opens `path` inside `folder`, which others may change meanwhile: the opened entry is always inside the
 * folder. A link to a place inside the folder is followed. Missing folders are created with the mode and owner of
 * `folder` itself.
 *
 * Throws {@link WithinError}.
 *
 * @param path relative, without `..`
 */
export async function openWithin(folder: string, path: string): Promise<Held> {
  let making = false;
  try {
    const root = await realpath(folder);
    const { present, missing } = await presentPart(root, partsOf(path));
    making = missing.length > 0;
    const inside = relative(root, present);
    if (isAbsolute(path) || leadsOut(path) || leadsOut(inside)) {
      throw new WithinError('not-within', 'the path leaves its folder', { making });
    }
    return await walk(root, partsOf(inside), missing);
  } catch (error) {
    if (error instanceof WithinError) throw error;
    if (error instanceof LinkFound) throw new WithinError('linked', 'a part of the path is a link', { making });
    const errno = (error as NodeJS.ErrnoException).code ?? 'unknown';
    // Not set as `cause`, since the original error contains the path.
    throw new WithinError('not-opened', `the path cannot be opened: ${errno}`, { making, errno });
  }
}

/** Used where there must be no link. */
class LinkFound extends Error {}

function partsOf(path: string): string[] {
  return path.split('/').filter((name) => name !== '' && name !== '.');
}

function leadsOut(path: string): boolean {
  return path.split('/').includes('..');
}

/** The longest existing part of the path, with links resolved, and the remaining names. */
async function presentPart(root: string, names: readonly string[]): Promise<{ present: string; missing: string[] }> {
  for (let count = names.length; ; count--) {
    try {
      const present = await realpath(join(root, ...names.slice(0, count)));
      return { present, missing: names.slice(count) };
    } catch (error) {
      if (count === 0 || !hasErrno(error, 'ENOENT')) throw error;
    }
  }
}

/** Goes from one open folder to the next. A part that was not a link when the path was resolved must not be one now. */
async function walk(root: string, present: readonly string[], missing: readonly string[]): Promise<Held> {
  let at = await Held.open(root);
  const { mode } = await at.stat();
  for (const name of present) at = await child(at, name);
  for (const name of missing) at = await child(at, name, mode & 0o7777);
  return at;
}

/** Opens a child of a folder, which is created with `mode` if it is missing, and closes the folder. */
async function child(folder: Held, name: string, mode?: number): Promise<Held> {
  try {
    const made = mode !== undefined && (await makeFolder(folder.at(name)));
    const held = await Held.open(folder.at(name));
    try {
      const stats = await held.stat();
      if (stats.isSymbolicLink()) throw new LinkFound();
      // Not by mkdir, which applies the umask.
      if (made && stats.isDirectory()) await chmod(held.path, mode);
    } catch (error) {
      await held.close();
      throw error;
    }
    return held;
  } finally {
    await folder.close();
  }
}

/** True if it was created by this call. */
async function makeFolder(path: string): Promise<boolean> {
  try {
    await mkdir(path);
    return true;
  } catch (error) {
    if (hasErrno(error, 'EEXIST')) return false;
    throw error;
  }
}
