import { chmod, lchown, lstat, mkdir, mkdtemp, open, readdir, readlink, rename, rm, symlink } from 'node:fs/promises';
import { join } from 'node:path';
import { hasErrno } from '@kubus/ports';
import { openRegular } from '../open-regular.ts';
import { checkPaths, foldersAbove } from './content-paths.ts';

/** A file as its users should read it. */
export interface FileContent {
  /** Below the folder. */
  readonly path: string;
  readonly data: Uint8Array;
  /** Permission bits. */
  readonly mode: number;
  /** Default: the user of this process. */
  readonly uid?: number;
}

export interface WriteOptions {
  /** The group of all files and folders; folders are set-group-ID. Default: that of the folder or of this process. */
  readonly gid?: number;
}

/** The link to the folder with the files: a reader that follows it sees one complete set of files. */
const CURRENT = '..data';
const NEXT = '..data_tmp';
/** The prefix of names that the writer reserves. */
const OWN = '..';
const FOLDER_MODE = 0o755;
const SET_GID = 0o2000;

/**
 * Makes a folder contain exactly these files, atomically (behaviour:volumes, secret, AtomicWriter): they are written into a
 * new folder `..<time>.<random>`, and renaming the link `..data` to it is the one step that makes them visible. Users access
 * the files by links through `..data`, which are created for new files and removed with them. Unchanged content is not
 * written again. Other entries of the folder, such as mount points, are kept.
 *
 * When it is interrupted at any point, either the old files or the new ones remain; the next call removes leftovers. One
 * call at
 * a time per folder.
 *
 * Throws {@link ContentPathError} before anything is written, or an error of Node.js; the old files then remain.
 */
export async function writeContent(
  folder: string,
  files: readonly FileContent[],
  options: WriteOptions = {},
): Promise<void> {
  const paths = checkPaths(files.map(({ path }) => path));
  const wanted = new Map(files.map((file, index) => [paths[index] ?? file.path, file]));
  const present = await readdir(folder, { withFileTypes: true });
  const folders = present.filter((entry) => entry.name.startsWith(OWN) && entry.isDirectory()).map(({ name }) => name);
  const old = await currentFolder(folder, folders);
  const isThere = old !== undefined && (await holds(join(folder, old), wanted, options));
  const current = isThere ? old : await writeAnew(folder, wanted, options);
  const links = new Set(present.filter((entry) => entry.isSymbolicLink()).map(({ name }) => name));
  await showNames(folder, { wanted, links, others: new Set(present.map(({ name }) => name)) });
  const left = folders.filter((name) => name !== current);
  await each(left, (name) => rm(join(folder, name), { recursive: true, force: true }));
}

/** Whether a complete set of content was ever written to the folder. */
export async function holdsContent(folder: string): Promise<boolean> {
  try {
    return (await lstat(join(folder, CURRENT))).isSymbolicLink();
  } catch (error) {
    if (hasErrno(error, 'ENOENT', 'ENOTDIR')) return false;
    throw error;
  }
}

/** The current folder of the writer; a link that points elsewhere is not the writer's and is not followed. */
async function currentFolder(folder: string, folders: readonly string[]): Promise<string | undefined> {
  const target = await linkTarget(join(folder, CURRENT));
  return target !== undefined && folders.includes(target) ? target : undefined;
}

/** Whether a folder has exactly these files, with their modes and owners. */
async function holds(
  folder: string,
  wanted: ReadonlyMap<string, FileContent>,
  options: WriteOptions,
): Promise<boolean> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  const pathOf = ({ parentPath, name }: { parentPath: string; name: string }) =>
    join(parentPath, name).slice(folder.length + 1);
  const found = entries.filter((entry) => !entry.isDirectory());
  if (found.length !== wanted.size || !found.every((entry) => entry.isFile() && wanted.has(pathOf(entry))))
    return false;
  const folders = new Set([...wanted.keys()].flatMap(foldersAbove));
  if (entries.length - found.length !== folders.size) return false;
  const same = await Promise.all([...wanted].map(([path, file]) => isSame(join(folder, path), file, options)));
  return same.every(Boolean);
}

async function isSame(path: string, { data, mode, uid }: FileContent, { gid }: WriteOptions): Promise<boolean> {
  const file = await openRegular(path);
  try {
    const stats = await file.stat();
    if ((stats.mode & 0o7777) !== mode || stats.size !== data.length) return false;
    if (stats.uid !== (uid ?? stats.uid) || stats.gid !== (gid ?? stats.gid)) return false;
    return (await file.readFile()).equals(data);
  } finally {
    await file.close();
  }
}

/** Writes the files into a new folder and makes it the current one. Returns its name. */
async function writeAnew(
  folder: string,
  wanted: ReadonlyMap<string, FileContent>,
  options: WriteOptions,
): Promise<string> {
  const made = await mkdtemp(join(folder, `${OWN}${timestamp(new Date())}.`));
  const name = made.slice(folder.length + 1);
  try {
    await setFolder(made, options);
    for (const path of [...new Set([...wanted.keys()].flatMap(foldersAbove))].sort()) {
      await mkdir(join(made, path));
      await setFolder(join(made, path), options);
    }
    await each(wanted, ([path, file]) => writeFile(join(made, path), file, options));
    await rm(join(folder, NEXT), { recursive: true, force: true });
    await symlink(name, join(folder, NEXT));
    await rename(join(folder, NEXT), join(folder, CURRENT));
  } catch (error) {
    await rm(made, { recursive: true, force: true });
    throw error;
  }
  return name;
}

/** The mode is set after the owner, since chown clears the set-group-ID bit, and not by mkdir, which applies the umask. */
async function setFolder(path: string, { gid }: WriteOptions): Promise<void> {
  if (gid !== undefined) await lchown(path, -1, gid);
  await chmod(path, gid === undefined ? FOLDER_MODE : FOLDER_MODE | SET_GID);
}

async function writeFile(path: string, { data, mode, uid }: FileContent, { gid }: WriteOptions): Promise<void> {
  const file = await open(path, 'wx', 0o600);
  try {
    await file.writeFile(data);
    if (uid !== undefined || gid !== undefined) await file.chown(uid ?? -1, gid ?? -1);
    await file.chmod(mode);
  } finally {
    await file.close();
  }
}

/** Creates missing links to the files, and removes those of removed files. */
async function showNames(
  folder: string,
  { wanted, links, others }: { wanted: ReadonlyMap<string, FileContent>; links: Set<string>; others: Set<string> },
): Promise<void> {
  const owners = new Map([...wanted].map(([path, { uid }]) => [path.split('/')[0] ?? path, uid]));
  const show = async ([name, uid]: [string, number | undefined]) => {
    const path = join(folder, name);
    if (links.has(name)) {
      if ((await linkTarget(path)) === targetOf(name)) return;
      await rm(path);
      // Something else, such as a mount point, has this name and takes precedence.
    } else if (others.has(name)) return;
    await symlink(targetOf(name), path);
    if (uid !== undefined) await lchown(path, uid, -1);
  };
  const hide = async (name: string) => {
    const path = join(folder, name);
    if ((await linkTarget(path)) === targetOf(name)) await rm(path, { force: true });
  };
  const stale = [...links].filter((name) => !name.startsWith(OWN) && !owners.has(name));
  await each(owners, show);
  await each(stale, hide);
}

/** Runs it for all concurrently; all have ended when this resolves or rejects. */
async function each<T>(items: Iterable<T>, action: (item: T) => Promise<void>): Promise<void> {
  const results = await Promise.allSettled([...items].map(action));
  for (const result of results) if (result.status === 'rejected') throw result.reason;
}

function targetOf(name: string): string {
  return `${CURRENT}/${name}`;
}

/** The target of a link; undefined if there is none. */
async function linkTarget(path: string): Promise<string | undefined> {
  try {
    return await readlink(path);
  } catch (error) {
    if (hasErrno(error, 'ENOENT', 'EINVAL')) return undefined;
    throw error;
  }
}

/** The format of the reference in the name: `2030_01_31_23_59_59`. */
function timestamp(now: Date): string {
  return now.toISOString().slice(0, 19).replace(/[-T:]/g, '_');
}
