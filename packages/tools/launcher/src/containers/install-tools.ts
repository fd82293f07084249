import { copyFile, cp, mkdir, readFile, readdir, readlink, rename, rm, symlink, writeFile } from 'node:fs/promises';
import { createHash } from 'node:crypto';
import { basename, join } from 'node:path';
import { inContainer } from './container-dir.ts';

/** The parts of the image that the command line needs. */
const parts = [
  'packages/tools/cli',
  'packages/tools/launcher',
  'packages/observe/observatory-page',
  'packages/tools/contract-document',
];

/**
 * Installs the command line and its Node.js on the machine, as `bin/kubus` in the folder. Each version has its own folder, and the link
 * `lib/current` is replaced atomically, so that running commands are not disturbed.
 */
export async function installTools(folder: string): Promise<void> {
  const versions = join(folder, 'lib');
  const version = await versionOfImage();
  const target = join(versions, version);
  const before = await readlink(join(versions, 'current')).catch(() => undefined);
  if (before !== version) {
    const unfinished = `${target}.new`;
    await rm(unfinished, { recursive: true, force: true });
    await mkdir(unfinished, { recursive: true });
    await copyFile(process.execPath, join(unfinished, 'node'));
    for (const part of parts) {
      await cp(join(inContainer.programs, part), join(unfinished, part), { recursive: true });
    }
    await rm(target, { recursive: true, force: true });
    await rename(unfinished, target);
    await replace(join(versions, 'current'), (path) => symlink(version, path));
    if (before !== undefined) await rm(join(versions, basename(before)), { recursive: true, force: true });
  }
  await mkdir(join(folder, 'bin'), { recursive: true });
  const script = `#!/bin/sh\nexec '${versions}/current/node' --disable-warning=ExperimentalWarning '${versions}/current/packages/tools/cli/dist/main.mjs' "$@"\n`;
  await replace(join(folder, 'bin/kubus'), (path) => writeFile(path, script, { mode: 0o755 }));
}

/** A digest of the programs and the version of Node.js. The file names of a bundle contain digests of their content. */
async function versionOfImage(): Promise<string> {
  const hash = createHash('sha256').update(process.version);
  for (const part of parts) {
    const folder = join(inContainer.programs, part, 'dist');
    hash.update((await readdir(folder)).sort().join());
    hash.update(await readFile(join(folder, 'main.mjs')).catch(() => ''));
  }
  return hash.digest('hex').slice(0, 12);
}

async function replace(path: string, make: (unfinished: string) => Promise<void>): Promise<void> {
  const unfinished = `${path}.new`;
  await rm(unfinished, { force: true });
  await make(unfinished);
  await rename(unfinished, path);
}
