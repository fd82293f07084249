import { readFile } from 'node:fs/promises';

/** One line of /proc/self/mountinfo (proc_pid_mountinfo(5)). */
export interface Mount {
  /** Absolute, without symbolic links. */
  readonly target: string;
  /** Type of the file system: `tmpfs`, `ext4`, `nsfs`, ... */
  readonly type: string;
  /** What is mounted: a device where the file system has one, otherwise any word, often the type. */
  readonly source: string;
  /**
   * The root of the mount within the file system: for a bind mount its folder or file, for a network namespace
   * `net:[<inode>]`.
   */
  readonly root: string;
  /** Mounts in it propagate to its copies in other namespaces (mount_namespaces(7)). */
  readonly shared: boolean;
  /** It is read-only. */
  readonly readOnly: boolean;
  /** Of the file system, for all of its mounts: `rw`, `seclabel`, `size=1024k`, ... */
  readonly options: readonly string[];
}

/** All mounts in the mount namespace of this process, oldest first. */
export async function listMounts(): Promise<Mount[]> {
  return parseMounts(await readFile('/proc/self/mountinfo', 'utf8'));
}

/** Whether something is mounted at exactly this path, in the form of the mount table. */
export async function isMounted(path: string): Promise<boolean> {
  return (await mountsBelow(path)).some(({ target }) => target === path);
}

/** Reads /proc/self/mountinfo. Fields are separated by blanks; a blank within one is written as \040. */
export function parseMounts(mountinfo: string): Mount[] {
  return mountinfo
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => {
      // Because of optional fields before the dash, later fields are counted from it.
      const [before = '', after = ''] = line.split(' - ');
      const [, , , root = '', target = '', own = '', ...optional] = before.split(' ');
      const [type = '', source = '', options = ''] = after.split(' ');
      return {
        target: unescape(target),
        type,
        source: unescape(source),
        root: unescape(root),
        readOnly: own.split(',').includes('ro'),
        shared: optional.some((field) => field.startsWith('shared:')),
        options: options.split(','),
      };
    });
}

/** Mounts at or below `path`, newest first: the order in which they can be unmounted. */
export async function mountsBelow(path: string): Promise<Mount[]> {
  return parseMountsBelow(await readFile('/proc/self/mountinfo', 'utf8'), path);
}

/** Only the lines with the path are parsed: a node has a few mounts for each of its pods, and asks for each of its folders. */
export function parseMountsBelow(mountinfo: string, path: string): Mount[] {
  const field = ` ${escape(path)}`;
  const lines = mountinfo.split('\n').filter((line) => line.includes(field));
  const mounts = parseMounts(lines.join('\n'));
  return mounts.filter(({ target }) => target === path || target.startsWith(`${path}/`)).reverse();
}

/** The mount that contains a path; of several at one place, the newest. The path has no symbolic links. */
export function mountAround(path: string, mounts: readonly Mount[]): Mount | undefined {
  const around = mounts.filter(({ target }) => path === target || target === '/' || path.startsWith(`${target}/`));
  const longest = Math.max(...around.map(({ target }) => target.length));
  return around.findLast(({ target }) => target.length === longest);
}

/** The device of the file system that contains a path, or the type of the file system where there is no device. */
export function deviceOf(path: string, mounts: readonly Mount[]): string | undefined {
  const mount = mountAround(path, mounts);
  return mount?.source.startsWith('/') === true ? mount.source : mount?.type;
}

/** The kernel escapes blanks, line ends and backslashes in octal. */
function escape(field: string): string {
  return field.replace(/[ \t\n\\]/g, (character) => `\\${character.charCodeAt(0).toString(8).padStart(3, '0')}`);
}

function unescape(field: string): string {
  if (!field.includes('\\')) return field;
  return field.replace(/\\([0-7]{3})/g, (_, octal: string) => String.fromCharCode(Number.parseInt(octal, 8)));
}
