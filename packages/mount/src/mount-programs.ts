import { KubusError } from '@kubus/ports';
import { listMounts, mountAround } from './mount-table.ts';
import { runProgram } from './run-program.ts';

/** How long mount(8) or umount(8) may take unless told otherwise. A local file system takes milliseconds. */
const LIMIT_MS = 30_000;

/** A mount could not be made or undone; the message is what the program said. Its code is `timed-out` for one that hung. */
export class MountError extends KubusError {}

/** A file system to be mounted. */
export interface MountRequest {
  readonly type: string;
  /** What is shown as its source; for a file system without a device any word. */
  readonly source: string;
  /** A folder that is there. */
  readonly target: string;
  readonly options: readonly string[];
  /** Milliseconds after which it is given up. */
  readonly limitMs?: number;
}

/** Mounts a file system. Throws {@link MountError}. */
export async function mount({ type, source, target, options, limitMs = LIMIT_MS }: MountRequest): Promise<void> {
  const words = options.length === 0 ? [] : ['-o', options.join(',')];
  await run(['mount', '-t', type, ...words, '--', source, target], target, limitMs);
}

/**
 * Shows the file or folder `source` at `target` too, which has to be of the same sort.
 *
 * @param source taken as it is written, and not resolved: `/proc/<pid>/fd/<n>` means the open file
 *
 * Throws {@link MountError}.
 */
export async function bindMount(source: string, target: string): Promise<void> {
  await run(['mount', '--no-canonicalize', '--bind', '--', source, target], target, LIMIT_MS);
}

/**
 * Makes what is mounted below `path` later appear in the mount namespaces that have a copy of it, and the other way round
 * (mount_namespaces(7), shared). Where it lies in a mount that is not shared, it becomes a mount of its own on itself,
 * which {@link unmount} undoes. Throws {@link MountError}.
 *
 * @param path a folder, without symbolic links
 */
export async function makeShared(path: string): Promise<void> {
  const around = mountAround(path, await listMounts());
  if (around?.shared === true) return;
  if (around?.target !== path) await run(['mount', '--rbind', '--', path, path], path, LIMIT_MS);
  await run(['mount', '--make-rshared', '--', path], path, LIMIT_MS);
}

/** File systems behind which there is a server, or a process, that may not answer. */
const REMOTE = /^(?:nfs|cifs|smb|ceph|9p|afs|lustre|fuse|gfs|ocfs|beegfs)/;

/**
 * Makes sure that nobody waits for ever who looks at `path`: where it lies on a file system of a server, that is asked
 * first, by a program that is given up. Throws {@link MountError} with the code `timed-out` when there is no answer.
 *
 * @param path without symbolic links
 */
export async function checkAnswers(path: string, limitMs: number): Promise<void> {
  const around = mountAround(path, await listMounts());
  if (REMOTE.test(around?.type ?? '')) await run(['stat', '--file-system', '--', path], path, limitMs);
}

/** Takes the right to write through the bind mount at `target`. Throws {@link MountError}. */
export async function makeReadOnly(target: string): Promise<void> {
  await run(['mount', '-o', 'remount,bind,ro', '--', target], target, LIMIT_MS);
}

/**
 * Undoes the last mount at `target`. Throws {@link MountError}, also when something in it is in use.
 *
 * @param options.how `force`: what waits for its server gives up (umount(8), -f). `lazy`: it vanishes from here at once, and
 *   altogether when its last user ends.
 */
export async function unmount(
  target: string,
  options: { how?: 'force' | 'lazy'; limitMs?: number } = {},
): Promise<void> {
  const { how, limitMs = LIMIT_MS } = options;
  const word = { force: ['--force'], lazy: ['--lazy'] };
  // A path that is written as in the list of mounts needs no look at what is there, which would hang with it.
  await run(['umount', '--no-canonicalize', ...(how ? word[how] : []), '--', target], target, limitMs);
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
