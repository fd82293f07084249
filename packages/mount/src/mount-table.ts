import { readFile } from 'node:fs/promises';

/** One line of /proc/self/mountinfo (proc_pid_mountinfo(5)). */
export interface Mount {
  /** Absolute, without symbolic links. */
  readonly target: string;
  /** Type of the file system: `tmpfs`, `ext4`, ... */
  readonly type: string;
  /** What is mounted in it appears in its copies in other namespaces (mount_namespaces(7)). */
  readonly shared: boolean;
  /** Nothing can be written through it. */
  readonly readOnly: boolean;
  /** Of the file system, for all of its mounts: `rw`, `seclabel`, `size=1024k`, ... */
  readonly options: readonly string[];
}

/** All mounts that this process sees, in the order in which they were made. */
export async function listMounts(): Promise<Mount[]> {
  return parseMounts(await readFile('/proc/self/mountinfo', 'utf8'));
}

/** Whether anything is mounted at exactly this path, which is written as in the list of mounts. */
export async function isMounted(path: string): Promise<boolean> {
  return (await listMounts()).some(({ target }) => target === path);
}

/** Reads /proc/self/mountinfo. Fields are separated by blanks; a blank within one is written as \040. */
export function parseMounts(mountinfo: string): Mount[] {
  return mountinfo
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => {
      // Optional fields before the dash make it the only thing to count from.
      const [before = '', after = ''] = line.split(' - ');
      const [, , , , target = '', own = '', ...optional] = before.split(' ');
      const [type = '', , options = ''] = after.split(' ');
      return {
        target: unescape(target),
        type,
        readOnly: own.split(',').includes('ro'),
        shared: optional.some((field) => field.startsWith('shared:')),
        options: options.split(','),
      };
    });
}

/** Mounts at or below `path`, the last one made first: the order in which they can be undone. */
export async function mountsBelow(path: string): Promise<Mount[]> {
  const mounts = await listMounts();
  return mounts.filter(({ target }) => target === path || target.startsWith(`${path}/`)).reverse();
}

/** The mount in which a path lies; of several at one place the last one made. The path is without symbolic links. */
export function mountAround(path: string, mounts: readonly Mount[]): Mount | undefined {
  const around = mounts.filter(({ target }) => path === target || target === '/' || path.startsWith(`${target}/`));
  const longest = Math.max(...around.map(({ target }) => target.length));
  return around.findLast(({ target }) => target.length === longest);
}

/** The kernel writes blanks, line ends and backslashes in octal. */
function unescape(field: string): string {
  if (!field.includes('\\')) return field;
  return field.replace(/\\([0-7]{3})/g, (_, octal: string) => String.fromCharCode(Number.parseInt(octal, 8)));
}
