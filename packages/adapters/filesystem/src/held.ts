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
/** The greatest depth of a path (PATH_MAX). Every folder on the way is kept open. */
const DEEPEST = 2048;

/** Visits everything below an open folder while others may change it. Follows no link and enters no mount. */
export async function walkTree(folder: Held, visitor: TreeVisitor, depth = 0): Promise<void> {
  if (depth > DEEPEST) throw new KubusError('too-deep', `folders are more than ${DEEPEST} deep`);
  const visit = async (entry: TreeEntry) => {
    try {
      await visitor.visit(entry);
    } catch (error) {
      if (!hasErrno(error, 'ENOENT')) throw error;
    }
  };
  const enter = async (name: string) => {
    const held = await openFolder(folder, name);
    if (held === undefined) return visit({ folder, name });
    try {
      if (held.mount !== folder.mount) {
        await visitor.mounted({ folder, name });
        return;
      }
      await walkTree(held, visitor, depth + 1);
      await visit({ folder, name, held });
    } finally {
      await held.close();
    }
  };
  let files: string[] = [];
  const visitFiles = async () => {
    const names = files;
    files = [];
    const results = await Promise.allSettled(names.map((name) => visit({ folder, name })));
    for (const result of results) if (result.status === 'rejected') throw result.reason;
  };
  for await (const { name, isFolder } of entries(folder)) {
    if (isFolder) await enter(name);
    else if (files.push(name) === AT_ONCE) await visitFiles();
  }
  await visitFiles();
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
