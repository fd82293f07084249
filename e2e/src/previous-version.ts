import { execFile } from 'node:child_process';
import { cp, mkdir, mkdtemp, rename, rm, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { previousCommit } from '@kubus/contract-document/versions';
import { checkout, testCache } from '@kubus/harness';
import { toError } from '@kubus/ports';
import { programFolders } from './installation.ts';

const run = promisify(execFile);

/** The path of the built programs of the previous version, or the reason why they are not available. */
export type PreviousVersion = { readonly folder: string } | { readonly missing: string };

/**
 * The built programs of the previous version, from the repository's own history. Its steps are written to
 * standard error; what was built once is kept in the cache of tests.
 *
 * @throws Error when that version cannot be built.
 */
export async function findPreviousVersion(): Promise<PreviousVersion> {
  const folder = join(testCache(), 'versions', previousCommit);
  if (await isThere(folder)) return { folder };
  const commit = previousCommit.slice(0, 12);
  try {
    await run('git', ['-C', checkout, 'cat-file', '-e', `${previousCommit}^{commit}`]);
  } catch (error) {
    return { missing: `the repository's history has no commit ${commit}: ${reason(error)}` };
  }
  await mkdir(dirname(folder), { recursive: true });
  const tree = await mkdtemp(`${folder}-`);
  try {
    await step(`taking ${commit} out of the history`, checkOut(tree));
    // Packages that are not in the store come from the registry.
    const install = run('pnpm', ['install', '--frozen-lockfile', '--prefer-offline'], { cwd: tree });
    const missing = await step(
      'installing its packages',
      install.then(() => undefined, reason),
    );
    if (missing !== undefined) return { missing: `the packages of ${commit} cannot be installed: ${missing}` };
    await step('building its programs', build(tree));
    const built = join(tree, 'built');
    const isNoMap = (file: string) => !file.endsWith('.map');
    for (const path of programFolders) {
      await cp(join(tree, path), join(built, path), { recursive: true, filter: isNoMap });
    }
    // Another process may have built it meanwhile: the result is the same.
    await rename(built, folder).catch(async (error: unknown) => {
      if (!(await isThere(folder))) throw error;
    });
    return { folder };
  } finally {
    await rm(tree, { recursive: true, force: true });
  }
}

/** A clone, not an archive: outside a repository turbo reads every file of node_modules. It changes nothing in this one. */
async function checkOut(tree: string): Promise<void> {
  await run('git', ['clone', '--quiet', '--shared', '--no-checkout', checkout, tree]);
  await run('git', ['-C', tree, 'checkout', '--quiet', '--detach', previousCommit]);
}

/** Builds as that version builds itself. */
async function build(tree: string): Promise<void> {
  await run('pnpm', ['build', '--output-logs=errors-only'], {
    cwd: tree,
    env: { ...process.env, TURBO_TELEMETRY_DISABLED: '1' },
  });
}

async function step<T>(what: string, work: Promise<T>): Promise<T> {
  process.stderr.write(`The previous version: ${what} ... `);
  const began = performance.now();
  const result = await work;
  process.stderr.write(`${((performance.now() - began) / 1000).toFixed(0)} s\n`);
  return result;
}

/** The last line that a failed program has written. */
function reason(error: unknown): string {
  const { stderr = '', stdout = '' } = error as { stderr?: string; stdout?: string };
  return `${stdout}${stderr}`.trim().split('\n').at(-1) || toError(error).message;
}

async function isThere(path: string): Promise<boolean> {
  return stat(path).then(
    () => true,
    () => false,
  );
}
