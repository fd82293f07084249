import { readFile } from 'node:fs/promises';

/** One line of /proc/self/mountinfo (proc_pid_mountinfo(5)). */
export interface Mount {
  /** Absolute, without symbolic links. */
  readonly target: string;
  /** Type of the file system: `tmpfs`, `ext4`, ... */
  readonly type: string;
}

/** All mounts that this process sees, in the order in which they were made. */
export async function listMounts(): Promise<Mount[]> {
  return parseMounts(await readFile('/proc/self/mountinfo', 'utf8'));
}

/** Reads /proc/self/mountinfo. Fields are separated by blanks; a blank within one is written as \040. */
export function parseMounts(mountinfo: string): Mount[] {
  return mountinfo
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => {
      // Optional fields before the dash make it the only thing to count from.
      const [before = '', after = ''] = line.split(' - ');
      const [target = '', type = ''] = [before.split(' ')[4], after.split(' ')[0]];
      return { target: unescape(target), type };
    });
}

/** Mounts at or below `path`, the last one made first: the order in which they can be undone. */
export async function mountsBelow(path: string): Promise<Mount[]> {
  const mounts = await listMounts();
  return mounts.filter(({ target }) => target === path || target.startsWith(`${path}/`)).reverse();
}

/** The kernel writes blanks, line ends and backslashes in octal. */
function unescape(field: string): string {
  if (!field.includes('\\')) return field;
  return field.replace(/\\([0-7]{3})/g, (_, octal: string) => String.fromCharCode(Number.parseInt(octal, 8)));
}
