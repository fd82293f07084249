import { checkout, startCommand } from '@kubus/harness';
import { createHash } from 'node:crypto';
import { access, mkdir, readFile, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';

/** Where the programs in Python are that take part in a node. */
export const pythonExamples = join(checkout, 'examples/python');

/** A Python that can run them, or why there is none. */
export type Python =
  { readonly command: (script: string, ...args: string[]) => string[] } | { readonly missing: string };

/** Finds Python, and installs the packages that the examples need below `.kubus`, with what pip is configured to use. */
export async function findPython(): Promise<Python> {
  const requirements = join(pythonExamples, 'requirements.txt');
  const hash = createHash('sha256')
    .update(await readFile(requirements))
    .digest('hex');
  const packages = join(checkout, '.kubus/cache/python', hash.slice(0, 16));
  const there = await access(packages).then(
    () => true,
    () => false,
  );
  if (!there) {
    const part = `${packages}.${process.pid}`;
    await mkdir(join(packages, '..'), { recursive: true });
    const pip = ['-m', 'pip', 'install', '--quiet', '--no-input', '--disable-pip-version-check', '--target', part];
    const failure = await failureOf('python3', [...pip, '-r', requirements]);
    if (failure !== undefined) {
      await rm(part, { recursive: true, force: true });
      return { missing: `python3 can not install ${requirements}: ${failure}` };
    }
    // Another test may have been faster; what it has installed is the same.
    await rename(part, packages).catch(() => rm(part, { recursive: true, force: true }));
  }
  const environment = [`PYTHONPATH=${packages}`, 'PYTHONDONTWRITEBYTECODE=1'];
  return { command: (script, ...args) => ['env', ...environment, 'python3', join(pythonExamples, script), ...args] };
}

/** The last line of what a program says that fails; undefined when it does not. */
async function failureOf(program: string, args: readonly string[]): Promise<string | undefined> {
  try {
    const { code, stderr } = await startCommand(program, args, {}).outcome;
    return code === 0 ? undefined : (stderr.trim().split('\n').at(-1) ?? `it ended with ${code}`);
  } catch (error) {
    return String(error);
  }
}
