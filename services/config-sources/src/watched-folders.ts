import { lstat, readlink, stat } from 'node:fs/promises';
import { join, parse, resolve, sep } from 'node:path';

/** What to watch in one folder. */
export interface WatchedFolder {
  /** Names on the path: when one of them changes, the path may resolve to another folder. */
  readonly names: ReadonlySet<string>;
  /** The path ends here: every name in it matters. */
  readonly content: boolean;
}

/** As many links as the kernel follows. */
const MAX_LINKS = 40;

/**
 * Every folder in which a change can affect what is at `path`: those on the path, links included (a ConfigMap volume
 * swaps its `..data` link), and the folder itself. From the root down. If the path ends early, the last one is the
 * folder in which the next name is missing.
 */
export async function foldersToWatch(path: string): Promise<ReadonlyMap<string, WatchedFolder>> {
  const folders = new Map<string, { names: Set<string>; content: boolean }>();
  const folder = (at: string) => {
    const known = folders.get(at) ?? { names: new Set(), content: false };
    folders.set(at, known);
    return known;
  };
  let [at, rest] = split(resolve(path));
  let links = 0;
  for (let name = rest.shift(); name !== undefined; name = rest.shift()) {
    folder(at).names.add(name);
    const next = join(at, name);
    const entry = await lstat(next).catch(() => undefined);
    if (entry === undefined) return folders;
    if (!entry.isSymbolicLink()) {
      at = next;
      continue;
    }
    if (++links > MAX_LINKS) return folders;
    const [start, way] = split(resolve(at, await readlink(next)));
    [at, rest] = [start, [...way, ...rest]];
  }
  const end = await stat(at).catch(() => undefined);
  if (end?.isDirectory() === true) folder(at).content = true;
  return folders;
}

function split(path: string): [root: string, names: string[]] {
  const { root } = parse(path);
  return [root, path.slice(root.length).split(sep).filter(Boolean)];
}
