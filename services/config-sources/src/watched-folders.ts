import { lstat, readlink, stat } from 'node:fs/promises';
import { join, parse, resolve, sep } from 'node:path';

/** What has to be watched in one folder. */
export interface WatchedFolder {
  /** Names on the way to the path: when one of them changes, the way may lead elsewhere. */
  readonly names: ReadonlySet<string>;
  /** The way ends here: everything in it counts. */
  readonly content: boolean;
}

/** As many links as the kernel follows. */
const MAX_LINKS = 40;

/**
 * Every folder in which something can change what lies at `path`: those on the way to it, links included (a ConfigMap
 * volume swaps its `..data` link), and the folder there itself. From the root down. Where the way ends early, the last
 * one is that in which the next name is missing.
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
