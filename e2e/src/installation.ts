import { cp, mkdir, readFile, readdir, rename, rm, symlink } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { checkout } from '@kubus/harness';
import { nodeServices } from '@kubus/launcher';

/** What can be upgraded alone: a service, or the launcher together with the command line program. */
export const parts = ['launcher', ...nodeServices] as const;
export type Part = (typeof parts)[number];

/** Where the programs of a part lie in a checkout that is built. */
function foldersOf(part: Part): readonly string[] {
  return part === 'launcher' ? ['packages/launcher/dist', 'packages/cli/dist'] : [`services/${part}/dist`];
}

export const programFolders: readonly string[] = parts.flatMap(foldersOf);

/** The programs of a node in a folder of their own, where each part can be of another version. */
export class Installation {
  readonly #folder: string;

  /** @param from a checkout that is built, or what lies in its place */
  static async make(folder: string, from: string): Promise<Installation> {
    const installation = new Installation(folder);
    for (const part of parts) await installation.put(part, from);
    // Images and native programs, under names that say what they are made of.
    await mkdir(join(folder, '.kubus'));
    const cache = join(checkout, '.kubus/cache');
    await mkdir(cache, { recursive: true });
    await symlink(cache, join(folder, '.kubus/cache'));
    return installation;
  }

  private constructor(folder: string) {
    this.#folder = folder;
  }

  /** The command line program. */
  get program(): string {
    return join(this.#folder, 'packages/cli/dist/main.mjs');
  }

  /** Puts a part's programs of another version in the place of those that are there. What runs goes on until its end. */
  async put(part: Part, from: string): Promise<void> {
    for (const path of foldersOf(part)) {
      const place = join(this.#folder, path);
      await mkdir(dirname(place), { recursive: true });
      await cp(join(from, path), `${place}.new`, { recursive: true });
      await rm(place, { recursive: true, force: true });
      await rename(`${place}.new`, place);
    }
  }
}

/** The version that a part's programs announce. */
export async function versionOf(part: Part, from: string): Promise<string> {
  const [folder = ''] = foldersOf(part).map((path) => join(from, path));
  for (const name of await readdir(folder)) {
    if (!name.endsWith('.mjs')) continue;
    const [version] = /\b\d+\.\d+\.\d+\+[0-9a-f]{12}\b/.exec(await readFile(join(folder, name), 'utf8')) ?? [];
    if (version !== undefined) return version;
  }
  throw new Error(`the programs in ${folder} do not say their version`);
}
