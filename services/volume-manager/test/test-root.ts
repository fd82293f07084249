import { mountsBelow, removeTree, unmount } from '@kubus/mount';
import { lstatSync, mkdtempSync, readdirSync, realpathSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** A folder of a test's own, in which anything may be mounted. */
export function makeRoot(): string {
  return realpathSync(mkdtempSync(join(tmpdir(), 'kubus-volumes-')));
}

export async function removeRoot(root: string): Promise<void> {
  for (const { target } of await mountsBelow(root)) await unmount(target);
  await removeTree(root);
}

/** What is below a folder, as `mode group path`, with the type of what is mounted there. */
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
