import { readFile, rm } from 'node:fs/promises';
import { type Command, runCommand } from './command.ts';
import { LauncherError } from './errors.ts';

/** One line of /proc/self/mountinfo (proc(5)). */
export interface Mount {
  readonly target: string;
  /** File system type: `overlay`, `tmpfs`, `nsfs`, `cgroup` ... */
  readonly type: string;
  /** Which part of the file system: for a bind mount its folder or file, for nsfs `net:[inode]`. */
  readonly source: string;
  /** Options of the file system itself, such as a cgroup v1 hierarchy's controllers. */
  readonly options: readonly string[];
}

/** All mounts that this process sees, in the order in which they were made. */
export async function listMounts(): Promise<Mount[]> {
  return parseMounts(await readFile('/proc/self/mountinfo', 'utf8'));
}

/** Pure part of `listMounts`. Fields are separated by blanks; a blank within one is written as \040. */
export function parseMounts(mountinfo: string): Mount[] {
  return mountinfo
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => {
      const [before = '', after = ''] = line.split(' - ');
      const [, , , source = '', target = ''] = before.split(' ');
      const [type = '', , options = ''] = after.split(' ');
      return { target: unescape(target), type, source: unescape(source), options: options.split(',') };
    });
}

function unescape(field: string): string {
  return field.replace(/\\([0-7]{3})/g, (_, octal: string) => String.fromCharCode(Number.parseInt(octal, 8)));
}

/** Mounts at or below `path`, the last one made first: the order in which they can be undone. */
export async function mountsUnder(path: string): Promise<Mount[]> {
  const mounts = await listMounts();
  return mounts.filter(({ target }) => target === path || target.startsWith(`${path}/`)).reverse();
}

/**
 * Removes every mount at or below `path`. One that is still in use is detached: it vanishes when its last user ends.
 *
 * @throws LauncherError `CommandFailed` when one cannot even be detached.
 */
export async function unmountAll(path: string): Promise<void> {
  for (const { target } of await mountsUnder(path)) {
    const unmount: Command = ['umount', '--', target];
    await runCommand(unmount).catch(() => runCommand(['umount', '--lazy', '--', target]));
  }
}

/**
 * Removes a folder and all that is in it; harmless when there is none. Refuses while anything is mounted there: what a
 * pod has mounted from the host must not be removed with the pod's folder.
 *
 * @throws LauncherError `StillMounted` that names the mount.
 */
export async function removeTree(path: string): Promise<void> {
  const [mount] = await mountsUnder(path);
  if (mount) {
    throw new LauncherError('StillMounted', `${path} is not removed: ${mount.target} is a mount (${mount.type})`);
  }
  await rm(path, { recursive: true, force: true });
}
