import { KubusError } from '@kubus/ports';
import { type HelperRequest, mountHelper } from './mount-helper.ts';
import { listMounts, mountAround, mountsBelow } from './mount-table.ts';
import { runProgram } from './run-program.ts';

/** Default time limit of mount(8) and umount(8). A local file system takes milliseconds. */
const LIMIT_MS = 30_000;

/**
 * Thrown when a mount could not be mounted or unmounted; the message is that of the program. The code is `timed-out` for
 * one that hung.
 */
export class MountError extends KubusError {}

/** Flags of mount(2) by the option of mount(8). */
const FLAGS: Readonly<Record<string, number>> = { ro: 1, nosuid: 2, nodev: 4, noexec: 8 };
const [MS_BIND, MS_REC, MS_SHARED] = [1 << 12, 1 << 14, 1 << 20];

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
  await run(
    ['mount', '-t', type, ...words, '--', source, target],
    target,
    limitMs,
    nativeMount({ type, source, target, options }),
  );
}

/** The request of the helper for the same mount; undefined for what it does not know. */
function nativeMount({ type, source, target, options }: MountRequest): HelperRequest | undefined {
  if (type === 'none' && options.length === 1 && options[0] === 'bind') return flagged(source, target, MS_BIND);
  const data = options.filter((option) => /^(size|nr_inodes|mode|uid|gid)=/.test(option));
  const flags = options.flatMap((option) => FLAGS[option] ?? []);
  if (type !== 'tmpfs' || data.length + flags.length < options.length) return undefined;
  return { ...flagged(source, target, ...flags), type, data: data.join(',') };
}

/** The request of the helper for a mount that its flags describe, such as a bind mount. */
function flagged(source: string, target: string, ...flags: readonly number[]) {
  return {
    what: 'mount',
    source,
    target,
    type: '',
    flags: flags.reduce((all, flag) => all | flag, 0),
    data: '',
  } as const;
}

/**
 * Bind-mounts the file or folder `source` at `target`, which must be of the same type.
 *
 * @param source used literally, without resolving links: `/proc/<pid>/fd/<n>` means the open file
 *
 * Throws {@link MountError}.
 */
export async function bindMount(source: string, target: string): Promise<void> {
  const command = ['mount', '--no-canonicalize', '--bind', '--', source, target] as const;
  await run(command, target, LIMIT_MS, flagged(source, target, MS_BIND));
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
  if (around?.target !== path) {
    await run(['mount', '--rbind', '--', path, path], path, LIMIT_MS, flagged(path, path, MS_BIND, MS_REC));
  }
  await run(['mount', '--make-rshared', '--', path], path, LIMIT_MS, flagged(path, path, MS_SHARED, MS_REC));
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
  const request = { what: 'readonly', target } as const;
  await run(['mount', '-o', 'remount,bind,ro', '--', target], target, LIMIT_MS, request);
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
  const request = how === undefined ? ({ what: 'unmount', target } as const) : undefined;
  await run(['umount', '--no-canonicalize', ...(how ? word[how] : []), '--', target], target, limitMs, request);
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

/** @param request the same for the helper. What it cannot do, the program does, or says why it cannot be done */
async function run(
  command: readonly [string, ...string[]],
  target: string,
  limitMs: number,
  request?: HelperRequest,
): Promise<void> {
  const context = { program: command[0], target };
  const timeout = () => {
    const message = `${command[0]} of ${target} has not ended after ${limitMs / 1000} s`;
    return new MountError('timed-out', message, { context });
  };
  const outcome = request && (await mountHelper()?.run(request, limitMs))?.outcome;
  if (outcome === 'done') return;
  if (outcome === 'timed-out') throw timeout();
  if (outcome === 'lost')
    throw new MountError('mount', `${command[0]} of ${target}: the mount helper has ended`, { context });
  const { code, stderr, timedOut } = await runProgram(command, limitMs);
  if (code === 0) return;
  if (timedOut) throw timeout();
  const said = stderr.trim();
  throw new MountError('mount', said === '' ? `${command[0]} of ${target} failed` : said, { context });
}
