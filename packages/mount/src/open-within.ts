import { KubusError, hasErrno } from '@kubus/ports';
import { chmod, mkdir, realpath } from 'node:fs/promises';
import { isAbsolute, join, relative } from 'node:path';
import { Held } from './held.ts';

/**
 * A path inside a folder can not be opened. Neither message nor context holds any part of the path, which may be made of
 * a secret; `errno` in the context is the kernel's word, such as `ENOTDIR`.
 */
export class WithinError extends KubusError {
  /** Something was missing that should have been made. */
  readonly making: boolean;

  constructor(code: string, message: string, options: { making: boolean; errno?: string }) {
    const { making, errno } = options;
    super(code, message, errno === undefined ? {} : { context: { errno } });
    this.making = making;
  }
}

/**
 * Takes hold of what is at `path` inside of `folder`, in which somebody else may change what he likes meanwhile: what is held
 * lies in the folder, whatever becomes of its path. A link that leads to somewhere in the folder is followed. Missing
 * folders are made, with the rights of `folder` itself.
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
      throw new WithinError('not-within', 'the path leads out of its folder', { making });
    }
    return await walk(root, partsOf(inside), missing);
  } catch (error) {
    if (error instanceof WithinError) throw error;
    if (error instanceof LinkFound) throw new WithinError('linked', 'a part of the path is a link', { making });
    const errno = (error as NodeJS.ErrnoException).code ?? 'unknown';
    // Not as its cause: the error itself shows the path.
    throw new WithinError('not-opened', `the path can not be opened: ${errno}`, { making, errno });
  }
}

/** Where there must be none. */
class LinkFound extends Error {}

function partsOf(path: string): string[] {
  return path.split('/').filter((name) => name !== '' && name !== '.');
}

function leadsOut(path: string): boolean {
  return path.split('/').includes('..');
}

/** The longest part of the path that there is, links resolved, and the names behind it. */
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

/** Goes from one held folder to the next. What was no link when the path was resolved must not be one now. */
async function walk(root: string, present: readonly string[], missing: readonly string[]): Promise<Held> {
  let at = await Held.open(root);
  const { mode } = await at.stat();
  for (const name of present) at = await child(at, name);
  for (const name of missing) at = await child(at, name, mode & 0o7777);
  return at;
}

/** Takes hold of a folder's child, which is made with `mode` where it is missing, and lets the folder go. */
async function child(folder: Held, name: string, mode?: number): Promise<Held> {
  try {
    const made = mode !== undefined && (await makeFolder(folder.at(name)));
    const held = await Held.open(folder.at(name));
    try {
      const stats = await held.stat();
      if (stats.isSymbolicLink()) throw new LinkFound();
      // Not in mkdir, where the umask would count.
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

/** True when it was made now. */
async function makeFolder(path: string): Promise<boolean> {
  try {
    await mkdir(path);
    return true;
  } catch (error) {
    if (hasErrno(error, 'EEXIST')) return false;
    throw error;
  }
}
