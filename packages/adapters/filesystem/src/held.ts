import { KubusError, hasErrno } from '@kubus/ports';
import { type Stats, constants, readFileSync } from 'node:fs';
import { type FileHandle, open, opendir, readlink } from 'node:fs/promises';

/** O_PATH of open(2): refers to the location only, so that the file system need not respond. Node.js has no constant for it. */
const O_PATH = 0o10000000;

/**
 * An open handle of a file, folder or link: operations through it apply to the opened one, even if its path changes
 * meanwhile.
 */
export class Held {
  readonly #handle: FileHandle;
  /** ID of the mount that contains it (proc_pid_mountinfo(5), first field). */
  readonly mount: number;

  private constructor(handle: FileHandle, mount: number) {
    this.#handle = handle;
    this.mount = mount;
  }

  /** Opens a handle of the path; for a link, of the link itself. Rejects with the error of Node.js. */
  static async open(path: string, options: { folder?: boolean } = {}): Promise<Held> {
    const folder = options.folder === true ? constants.O_DIRECTORY : 0;
    const handle = await open(path, O_PATH | constants.O_NOFOLLOW | folder);
    try {
      // From memory, like all of /proc, so it does not block.
      const mount = /^mnt_id:\s*(\d+)$/m.exec(readFileSync(`/proc/self/fdinfo/${handle.fd}`, 'utf8'))?.[1];
      if (mount === undefined) throw new KubusError('no-mount-id', '/proc/self/fdinfo names no mount');
      return new Held(handle, Number(mount));
    } catch (error) {
      await handle.close();
      throw error;
    }
  }

  /** A path that always refers to it. It must not be used for a link. */
  get path(): string {
    return `/proc/self/fd/${this.#handle.fd}`;
  }

  /** A path to an entry of this folder. */
  at(name: string): string {
    return `${this.path}/${name}`;
  }

  /** As {@link path}, for child processes. */
  get pathForOthers(): string {
    return `/proc/${process.pid}/fd/${this.#handle.fd}`;
  }

  /** Identifies the file while it is open: equal values mean the same file. */
  async identity(): Promise<string> {
    const { dev, ino } = await this.#handle.stat({ bigint: true });
    return `${dev} ${ino}`;
  }

  /** Where it is now: an absolute path without links. */
  place(): Promise<string> {
    return readlink(this.path);
  }

  stat(): Promise<Stats> {
    return this.#handle.stat();
  }

  close(): Promise<void> {
    return this.#handle.close();
  }
}

/** An entry below a folder; `folder` is its parent. */
export interface TreeEntry {
  readonly folder: Held;
  readonly name: string;
  /** Set for a folder. */
  readonly held?: Held;
}

export interface TreeVisitor {
  /** Called for each entry, for a folder after its contents. An entry that vanishes meanwhile (ENOENT) is not an error. */
  visit(entry: TreeEntry): Promise<void>;
  /** Called for a folder with a mount on it, which is not entered. */
  mounted(entry: Omit<TreeEntry, 'held'>): Promise<void> | void;
}

/**
 * Entries of one folder that are processed concurrently. Node.js runs four file operations at a time, for the whole
 * process.
 */
export const AT_ONCE = 8;
/** How many folders on the way down are kept open. Those above them are opened again from below, on the way back. */
const KEPT_OPEN = 32;

/** A folder on the way down, whose files were visited. */
interface Level {
  readonly name: string;
  /** Set while it is kept open. */
  held: Held | undefined;
  /** Set while it is not. */
  identity: string | undefined;
  /** The folders in it that were not entered yet. */
  readonly folders: string[];
}

/**
 * Visits everything below an open folder while others may change it, at any depth, with a bounded number of descriptors. Follows no link and
 * enters no mount.
 *
 * Throws a KubusError `moved` when a folder deep below was moved elsewhere meanwhile, so that there is no way back.
 */
export async function walkTree(root: Held, visitor: TreeVisitor): Promise<void> {
  const levels: Level[] = [];
  let at = root;
  try {
    levels.push({ name: '', held: root, identity: undefined, folders: await visitFiles(root, visitor) });
    for (let level = levels[0]; level !== undefined; level = levels.at(-1)) {
      const name = level.folders.pop();
      if (name !== undefined) {
        const held = await enter(at, name, visitor);
        if (held === undefined) continue;
        levels.push({ name, held, identity: undefined, folders: [] });
        levels.at(-1)?.folders.push(...(await visitFiles(held, visitor)));
        at = held;
        await leaveOpen(levels, root);
        continue;
      }
      levels.pop();
      const parent = levels.at(-1);
      if (parent === undefined) return;
      const below = at;
      try {
        at = parent.held ??= await wayBack(below, parent);
        await visitEntry({ folder: at, name: level.name, held: below }, visitor);
      } finally {
        await below.close();
      }
    }
  } finally {
    for (const { held } of levels) if (held !== root) await held?.close();
  }
}

/** Opens a folder that is to be entered; undefined when it is none any more, or something is mounted on it. */
async function enter(folder: Held, name: string, visitor: TreeVisitor): Promise<Held | undefined> {
  const held = await openFolder(folder, name);
  if (held === undefined) {
    await visitEntry({ folder, name }, visitor);
    return undefined;
  }
  if (held.mount === folder.mount) return held;
  try {
    await visitor.mounted({ folder, name });
    return undefined;
  } finally {
    await held.close();
  }
}

/** Closes the folder that is too far above. */
async function leaveOpen(levels: readonly Level[], root: Held): Promise<void> {
  const far = levels.at(-1 - KEPT_OPEN);
  if (far?.held === undefined || far.held === root) return;
  far.identity = await far.held.identity();
  await far.held.close();
  far.held = undefined;
}

/** Opens a folder again from one in it. */
async function wayBack(below: Held, { name, identity }: Level): Promise<Held> {
  const held = await Held.open(below.at('..'), { folder: true });
  if (held.mount === below.mount && (await held.identity()) === identity) return held;
  await held.close();
  throw new KubusError('moved', `a folder in ${name} was moved elsewhere while the folders were visited`);
}

/** Visits the files of a folder, and returns the names of the folders in it. */
async function visitFiles(folder: Held, visitor: TreeVisitor): Promise<string[]> {
  const folders: string[] = [];
  let files: string[] = [];
  const visitAll = async () => {
    const names = files;
    files = [];
    const results = await Promise.allSettled(names.map((name) => visitEntry({ folder, name }, visitor)));
    for (const result of results) if (result.status === 'rejected') throw result.reason;
  };
  for await (const { name, isFolder } of entries(folder)) {
    if (isFolder) folders.push(name);
    else if (files.push(name) === AT_ONCE) await visitAll();
  }
  await visitAll();
  return folders;
}

async function visitEntry(entry: TreeEntry, visitor: TreeVisitor): Promise<void> {
  try {
    await visitor.visit(entry);
  } catch (error) {
    if (!hasErrno(error, 'ENOENT')) throw error;
  }
}

/** The entries of an open folder; none when it was removed. */
export async function* entries(folder: Held): AsyncGenerator<{ name: string; isFolder: boolean }> {
  try {
    for await (const entry of await opendir(folder.path, { bufferSize: 256 })) {
      yield { name: entry.name, isFolder: entry.isDirectory() };
    }
  } catch (error) {
    if (!hasErrno(error, 'ENOENT')) throw error;
  }
}

/** Undefined when it does not exist any more, or is no longer a folder. */
export async function openFolder(folder: Held, name: string): Promise<Held | undefined> {
  try {
    return await Held.open(folder.at(name), { folder: true });
  } catch (error) {
    if (hasErrno(error, 'ENOENT', 'ENOTDIR', 'ELOOP')) return undefined;
    throw error;
  }
}
