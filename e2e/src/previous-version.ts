import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { cp, mkdir, mkdtemp, rename, rm, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { previousCommit } from '@kubus/contract-document/versions';
import { checkout, testCache } from '@kubus/harness';
import { toError } from '@kubus/ports';
import { programFolders } from './installation.ts';

const run = promisify(execFile);

/** Where the built programs of the version before this one lie, or why they can not be had. */
export type PreviousVersion = { readonly folder: string } | { readonly missing: string };

/**
 * The built programs of the version before this one, from the repository's own history. What it takes is told on standard
 * error; what was built once is kept in the cache of tests.
 *
 * @throws Error when that version can not be built.
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
    await step(`taking ${commit} out of the history`, exportCommit(tree));
    // What is not in the store of packages comes from the registry.
    const install = run('pnpm', ['install', '--frozen-lockfile', '--prefer-offline'], { cwd: tree });
    const missing = await step(
      'installing its packages',
      install.then(() => undefined, reason),
    );
    if (missing !== undefined) return { missing: `the packages of ${commit} can not be installed: ${missing}` };
    await step('building its programs', build(tree));
    const built = join(tree, 'built');
    const isNoMap = (file: string) => !file.endsWith('.map');
    for (const path of programFolders) {
      await cp(join(tree, path), join(built, path), { recursive: true, filter: isNoMap });
    }
    // Another process may have been faster: what it built is the same.
    await rename(built, folder).catch(async (error: unknown) => {
      if (!(await isThere(folder))) throw error;
    });
    return { folder };
  } finally {
    await rm(tree, { recursive: true, force: true });
  }
}

async function exportCommit(tree: string): Promise<void> {
  const archive = spawn('git', ['-C', checkout, 'archive', previousCommit], { stdio: ['ignore', 'pipe', 'inherit'] });
  const tar = spawn('tar', ['--extract', '--directory', tree], { stdio: [archive.stdout, 'ignore', 'inherit'] });
  const codes = await Promise.all([archive, tar].map(async (child) => (await once(child, 'exit'))[0] as unknown));
  if (codes.some((code) => code !== 0)) throw new Error(`git archive and tar ended with ${codes.join(' and ')}`);
}

/** Builds what the services and the launcher are, and nothing else. */
async function build(tree: string): Promise<void> {
  const names = programFolders.map((path) => `--filter=./${dirname(path)}`);
  await run(join(tree, 'node_modules/.bin/turbo'), ['run', 'build', '--output-logs=errors-only', ...names], {
    cwd: tree,
    env: { ...process.env, TURBO_TELEMETRY_DISABLED: '1' },
  });
}

async function step<T>(what: string, work: Promise<T>): Promise<T> {
  process.stderr.write(`The version before: ${what} ... `);
  const began = performance.now();
  const result = await work;
  process.stderr.write(`${((performance.now() - began) / 1000).toFixed(0)} s\n`);
  return result;
}

/** The last line of what a program said when it failed. */
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
