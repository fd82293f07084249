import { KubusError } from '@kubus/ports';
import { listMounts, mountAround, mountsBelow } from './mount-table.ts';
import { runProgram } from './run-program.ts';

/** Default time limit of mount(8) and umount(8). A local file system takes milliseconds. */
const LIMIT_MS = 30_000;

/**
 * Thrown when a mount could not be mounted or unmounted; the message is that of the program. The code is `timed-out` for
 * one that hung.
 */
export class MountError extends KubusError {}

/** A file system to be mounted. */
export interface MountRequest {
  readonly type: string;
  /** Shown as its source; any text for a file system without a device. */
  readonly source: string;
  /** An existing folder. */
  readonly target: string;
  readonly options: readonly string[];
  /** Milliseconds after which it times out. Default 30 000. */
  readonly limitMs?: number;
}

/** Mounts a file system. Throws {@link MountError}. */
export async function mount({ type, source, target, options, limitMs = LIMIT_MS }: MountRequest): Promise<void> {
  const words = options.length === 0 ? [] : ['-o', options.join(',')];
  await run(['mount', '-t', type, ...words, '--', source, target], target, limitMs);
}

/**
 * Bind-mounts the file or folder `source` at `target`, which must be of the same type.
 *
 * @param source used literally, without resolving links: `/proc/<pid>/fd/<n>` means the open file
 *
 * Throws {@link MountError}.
 */
export async function bindMount(source: string, target: string): Promise<void> {
  await run(['mount', '--no-canonicalize', '--bind', '--', source, target], target, LIMIT_MS);
}

/**
 * Makes later mounts below `path` appear in the mount namespaces that have a copy of it, and the other way round
 * (mount_namespaces(7), shared). If it is in a mount that is not shared, it becomes a bind mount of itself, which {@link
 * unmount} removes. Throws {@link MountError}.
 *
 * @param path a folder, without symbolic links
 */
export async function makeShared(path: string): Promise<void> {
  const around = mountAround(path, await listMounts());
  if (around?.shared === true) return;
  if (around?.target !== path) await run(['mount', '--rbind', '--', path, path], path, LIMIT_MS);
  await run(['mount', '--make-rshared', '--', path], path, LIMIT_MS);
}

/** File systems with a server or process that may not answer. */
const REMOTE = /^(?:nfs|cifs|smb|ceph|9p|afs|lustre|fuse|gfs|ocfs|beegfs)/;

/**
 * Makes sure that access to `path` does not hang: if it is on a file system with a server, a program that is
 * killed after `limitMs` accesses it first. Throws {@link MountError} with the code `timed-out` when the server does not
 * answer.
 *
 * @param path without symbolic links
 */
export async function checkAnswers(path: string, limitMs: number): Promise<void> {
  const around = mountAround(path, await listMounts());
  if (REMOTE.test(around?.type ?? '')) await run(['stat', '--file-system', '--', path], path, limitMs);
}

/** Makes the bind mount at `target` read-only. Throws {@link MountError}. */
export async function makeReadOnly(target: string): Promise<void> {
  await run(['mount', '-o', 'remount,bind,ro', '--', target], target, LIMIT_MS);
}

/**
 * Unmounts the last mount at `target`. Throws {@link MountError}, also when something in it is in use.
 *
 * @param options.how `force`: requests to its server are aborted (umount(8), -f). `lazy`: it is detached at once, and unmounted
 *   when its last user ends.
 */
export async function unmount(
  target: string,
  options: { how?: 'force' | 'lazy'; limitMs?: number } = {},
): Promise<void> {
  const { how, limitMs = LIMIT_MS } = options;
  const word = { force: ['--force'], lazy: ['--lazy'] };
  // With a path as in the mount table, the program need not access the target, which could hang.
  await run(['umount', '--no-canonicalize', ...(how ? word[how] : []), '--', target], target, limitMs);
}

/**
 * Unmounts every mount at or below `path`, newest first. A mount that is in use, or whose server does not answer, is
 * detached: it is unmounted when its last user ends.
 *
 * @param path without symbolic links, as in the mount table
 *
 * Throws {@link MountError} when one cannot even be detached.
 */
export async function unmountBelow(path: string): Promise<void> {
  for (const { target } of await mountsBelow(path)) {
    await unmount(target).catch(() => unmount(target, { how: 'lazy' }));
  }
}

async function run(command: readonly [string, ...string[]], target: string, limitMs: number): Promise<void> {
  const { code, stderr, timedOut } = await runProgram(command, limitMs);
  if (code === 0) return;
  const context = { program: command[0], target };
  if (timedOut) {
    const message = `${command[0]} of ${target} has not ended after ${limitMs / 1000} s`;
    throw new MountError('timed-out', message, { context });
  }
  const said = stderr.trim();
  throw new MountError('mount', said === '' ? `${command[0]} of ${target} failed` : said, { context });
}
