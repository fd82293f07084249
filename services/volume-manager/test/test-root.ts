import { mountsBelow, removeTree, unmount } from '@kubus/filesystem';
import { execFileSync } from 'node:child_process';
import { lstatSync, mkdtempSync, readdirSync, realpathSync, truncateSync, writeFileSync } from 'node:fs';
import { watch } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** Creates a folder for a test, in which anything may be mounted. */
export function makeRoot(): string {
  return realpathSync(mkdtempSync(join(tmpdir(), 'kubus-volumes-')));
}

/** Creates an empty block device of 16 MiB from a file in the folder. */
export function makeDevice(folder: string): string {
  const file = join(folder, `image-${readdirSync(folder).length}`);
  writeFileSync(file, '');
  truncateSync(file, 16 * 1024 * 1024);
  return execFileSync('losetup', ['--find', '--show', file], { encoding: 'utf8' }).trim();
}

export function removeDevice(device: string): void {
  execFileSync('losetup', ['--detach', device]);
}

/** @param unmounted called when nothing is mounted there any more */
export async function removeRoot(root: string, unmounted?: () => Promise<unknown>): Promise<void> {
  for (const { target } of await mountsBelow(root)) await unmount(target);
  await unmounted?.();
  await removeTree(root);
}

/** The content of a folder, as `mode group path`, with the type of what is mounted there. */
export async function everything(root: string): Promise<string[]> {
  const mounts = new Map((await mountsBelow(root)).map(({ target, type }) => [target, type]));
  const below = (folder: string): string[] =>
    readdirSync(folder)
      .sort()
      .flatMap((name) => {
        const path = join(folder, name);
        const { mode, gid } = lstatSync(path);
        const type = mounts.get(path);
        const line = `${(mode & 0o7777).toString(8)} ${gid} ${path.slice(root.length + 1)}`;
        const rest = lstatSync(path).isDirectory() ? below(path) : [];
        return [type === undefined ? line : `${line} ${type}`, ...rest];
      });
  return below(root);
}

/** Waits until a condition holds in an existing folder; checks it at each change of its names and files. */
export async function untilIn(folder: string, isSo: () => boolean): Promise<void> {
  const ended = new AbortController();
  const changes = watch(folder, { signal: ended.signal })[Symbol.asyncIterator]();
  try {
    let change = changes.next();
    while (!isSo()) {
      await change;
      change = changes.next();
    }
    change.catch(() => undefined);
  } finally {
    ended.abort();
  }
}
