import { checkout, startCommand } from '@kubus/harness';
import { createHash } from 'node:crypto';
import { access, mkdir, readFile, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';

/** Where the programs in Python are that take part in a node. */
export const pythonExamples = join(checkout, 'examples/python');

/** A Python that can run them, or why there is none. */
export type Python =
  { readonly command: (script: string, ...args: string[]) => string[] } | { readonly missing: string };

/** Says which Python it is, which decides what is installed for it, and ends with an error where it is too old. */
const versionProgram =
  'import sys; print(sys.version); sys.exit("Python 3.10 or later is needed" if sys.version_info < (3, 10) else 0)';

/** Finds Python, and installs the packages that the examples need below `.kubus`, with what pip is configured to use. */
export async function findPython(): Promise<Python> {
  const version = await ran('python3', ['-c', versionProgram]);
  if (version.failure !== undefined) return { missing: `python3 can not be run: ${version.failure}` };
  const requirements = join(pythonExamples, 'requirements.txt');
  const hash = createHash('sha256')
    .update(version.stdout)
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
    const { failure } = await ran('python3', [...pip, '-r', requirements]);
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

/** What a program says, and the last line of what it says on its failure. */
async function ran(program: string, args: readonly string[]): Promise<{ stdout: string; failure: string | undefined }> {
  try {
    const { code, stdout, stderr } = await startCommand(program, args, {}).outcome;
    return { stdout, failure: code === 0 ? undefined : (stderr.trim().split('\n').at(-1) ?? `it ended with ${code}`) };
  } catch (error) {
    return { stdout: '', failure: String(error) };
  }
}
