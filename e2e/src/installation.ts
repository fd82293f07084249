import { cp, mkdir, readFile, readdir, rename, rm, symlink, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { checkout } from '@kubus/harness';
import { nodeServices } from '@kubus/service-kit';

/** The parts that can be upgraded separately: a service, or the launcher together with the command line program. */
const parts = ['launcher', ...nodeServices] as const;
export type Part = (typeof parts)[number];

/** Where the programs of a part lie in a checkout that is built. */
function foldersOf(part: Part): readonly string[] {
  return part === 'launcher' ? ['packages/tools/launcher/dist', 'packages/tools/cli/dist'] : [`services/${part}/dist`];
}

export const programFolders: readonly string[] = parts.flatMap(foldersOf);

/** The programs of a node in a folder of their own, in which each part can have another version. */
export class Installation {
  readonly #folder: string;

  /** @param from a checkout that is built, or a folder with the same layout */
  static async make(folder: string, from: string): Promise<Installation> {
    const installation = new Installation(folder);
    for (const part of parts) await installation.put(part, from);
    // Images and native programs; their names contain a hash of their sources.
    await mkdir(join(folder, '.kubus'), { recursive: true });
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
    return join(this.#folder, 'packages/tools/cli/dist/main.mjs');
  }

  /** Replaces a part's programs by those of another version. Processes that run keep running. */
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

const versionPattern = /\b\d+\.\d+\.\d+\+[0-9a-f]{12}\b/;

/** The version that a part's programs announce. */
export async function versionOf(part: Part, from: string): Promise<string> {
  const [folder = ''] = foldersOf(part).map((path) => join(from, path));
  for (const name of await readdir(folder)) {
    if (!name.endsWith('.mjs')) continue;
    const [version] = versionPattern.exec(await readFile(join(folder, name), 'utf8')) ?? [];
    if (version !== undefined) return version;
  }
  throw new Error(`the programs in ${folder} do not say their version`);
}

/** Puts the checkout's programs into `folder`/renamed, where each announces another version. Returns that folder. */
export async function renamedVersion(folder: string): Promise<string> {
  const renamed = join(folder, 'renamed');
  for (const part of parts) {
    const version = await versionOf(part, checkout);
    const other = version.replace(/[0-9a-f]{12}$/, '0'.repeat(12));
    for (const path of foldersOf(part)) {
      await cp(join(checkout, path), join(renamed, path), {
        recursive: true,
        filter: (file) => !file.endsWith('.map'),
      });
      for (const entry of await readdir(join(renamed, path), { withFileTypes: true, recursive: true })) {
        if (!entry.isFile() || !entry.name.endsWith('.mjs')) continue;
        const file = join(entry.parentPath, entry.name);
        await writeFile(file, (await readFile(file, 'utf8')).replaceAll(version, other));
      }
    }
  }
  return renamed;
}
