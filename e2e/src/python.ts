import { checkout, startCommand } from '@kubus/harness';
import { createHash } from 'node:crypto';
import { access, mkdir, readFile, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';

/** The folder of the Python examples. */
const pythonExamples = join(checkout, 'examples/python');

/** A Python that can run the examples, or why there is none. */
export type Python =
  { readonly command: (script: string, ...args: string[]) => string[] } | { readonly missing: string };

/** Prints its version, which decides what is installed for it; ends with an error when it is too old. */
const versionProgram =
  'import sys; print(sys.version); sys.exit("Python 3.10 or later is needed" if sys.version_info < (3, 10) else 0)';

/** Finds Python, and installs the packages that the examples need below `.kubus`, with what pip is configured to use. */
export async function findPython(): Promise<Python> {
  const version = await ran('python3', ['-c', versionProgram]);
  if (version.failure !== undefined) return { missing: `python3 cannot be run: ${version.failure}` };
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
    // Where the index of packages cannot be reached, the default of five retries takes ten seconds a package before pip looks elsewhere.
    const pip = ['-m', 'pip', 'install', '--quiet', '--no-input', '--retries', '1', '--disable-pip-version-check'];
    const { failure } = await ran('python3', [...pip, '--target', part, '-r', requirements]);
    if (failure !== undefined) {
      await rm(part, { recursive: true, force: true });
      return { missing: `python3 cannot install ${requirements}: ${failure}` };
    }
    // Another test may have installed it meanwhile: the result is the same.
    await rename(part, packages).catch(() => rm(part, { recursive: true, force: true }));
  }
  const environment = [`PYTHONPATH=${packages}`, 'PYTHONDONTWRITEBYTECODE=1'];
  return { command: (script, ...args) => ['env', ...environment, 'python3', join(pythonExamples, script), ...args] };
}

/** The output of a program; throws with its last line when it fails. */
async function ran(program: string, args: readonly string[]): Promise<{ stdout: string; failure: string | undefined }> {
  try {
    const { code, stdout, stderr } = await startCommand(program, args, {}).outcome;
    return { stdout, failure: code === 0 ? undefined : (stderr.trim().split('\n').at(-1) ?? `it ended with ${code}`) };
  } catch (error) {
    return { stdout: '', failure: String(error) };
  }
}
