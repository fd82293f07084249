import { KubusError, hasErrno } from '@kubus/ports';
import { type Stats, constants, readFileSync } from 'node:fs';
import { type FileHandle, open, opendir } from 'node:fs/promises';

/** open(2): only where the file is, so that nothing is asked of the file system behind it. Node has no name for it. */
const O_PATH = 0o10000000;

/**
 * A file, folder or link that is held open: what is done over it is done to the one that was opened, whatever becomes of
 * the path that led to it meanwhile.
 */
export class Held {
  readonly #handle: FileHandle;
  /** Id of the mount that it was reached in (proc_pid_mountinfo(5), first field). */
  readonly mount: number;

  private constructor(handle: FileHandle, mount: number) {
    this.#handle = handle;
    this.mount = mount;
  }

  /** Takes hold of what is at the path; of the link itself where that is one. Rejects with Node's error. */
  static async open(path: string, options: { folder?: boolean } = {}): Promise<Held> {
    const folder = options.folder === true ? constants.O_DIRECTORY : 0;
    const handle = await open(path, O_PATH | constants.O_NOFOLLOW | folder);
    try {
      // From memory, like all of /proc: nothing to wait for.
      const mount = /^mnt_id:\s*(\d+)$/m.exec(readFileSync(`/proc/self/fdinfo/${handle.fd}`, 'utf8'))?.[1];
      if (mount === undefined) throw new KubusError('no-mount-id', '/proc/self/fdinfo names no mount');
      return new Held(handle, Number(mount));
    } catch (error) {
      await handle.close();
      throw error;
    }
  }

  /** A path that leads to it alone. It must not be used for a link. */
  get path(): string {
    return `/proc/self/fd/${this.#handle.fd}`;
  }

  /** A path to an entry of this folder. */
  at(name: string): string {
    return `${this.path}/${name}`;
  }

  /** As {@link path}, for the programs that this process starts. */
  get pathForOthers(): string {
    return `/proc/${process.pid}/fd/${this.#handle.fd}`;
  }

  /** Which file it is, as long as anybody holds it: two are the same if this is equal. */
  async identity(): Promise<string> {
    const { dev, ino } = await this.#handle.stat({ bigint: true });
    return `${dev} ${ino}`;
  }

  stat(): Promise<Stats> {
    return this.#handle.stat();
  }

  close(): Promise<void> {
    return this.#handle.close();
  }
}

/** Something below a folder: `folder` is the one that it is in. */
export interface TreeEntry {
  readonly folder: Held;
  readonly name: string;
  /** Where it is a folder. */
  readonly held?: Held;
}

export interface TreeVisitor {
  /** Called for each entry, for a folder after all that is in it. What vanishes meanwhile (ENOENT) is no error. */
  visit(entry: TreeEntry): Promise<void>;
  /** Called for a folder on which something is mounted: nothing of it is looked at. */
  mounted(entry: Omit<TreeEntry, 'held'>): Promise<void> | void;
}

/** Entries of one folder that are worked on at a time. Node does four file operations at once, for the whole process. */
const AT_ONCE = 8;
/** As deep as a path can lead (PATH_MAX). Every folder on the way is held open. */
const DEEPEST = 2048;

/** Visits all that is below a held folder, while others may change it. Follows no link and enters no mount. */
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

async function* entries(folder: Held): AsyncGenerator<{ name: string; isFolder: boolean }> {
  try {
    for await (const entry of await opendir(folder.path, { bufferSize: 256 })) {
      yield { name: entry.name, isFolder: entry.isDirectory() };
    }
  } catch (error) {
    if (!hasErrno(error, 'ENOENT')) throw error;
  }
}

/** Undefined when it is gone, or no folder any more. */
async function openFolder(folder: Held, name: string): Promise<Held | undefined> {
  try {
    return await Held.open(folder.at(name), { folder: true });
  } catch (error) {
    if (hasErrno(error, 'ENOENT', 'ENOTDIR', 'ELOOP')) return undefined;
    throw error;
  }
}
