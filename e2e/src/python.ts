import { checkout, startCommand } from '@kubus/harness';
import { createHash } from 'node:crypto';
import { access, mkdir, readFile, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';

/** The folder of the Python examples. */
const pythonExamples = join(checkout, 'examples/python');

/** A Python that can run the examples, or why there is none. */
export type Python =
  { readonly command: (script: string, ...args: string[]) => string[] } | { readonly missing: string };

/** Sets up Python below `.kubus` with the examples' own setup.sh; once for each version of Python and of the packages. */
export async function findPython(): Promise<Python> {
  const version = await ran('python3', ['-c', 'import sys; print(sys.version)']);
  if (version.failure !== undefined) return { missing: `python3 cannot be run: ${version.failure}` };
  const setup = join(pythonExamples, 'setup.sh');
  const hash = createHash('sha256').update(version.stdout);
  for (const file of [setup, join(pythonExamples, 'requirements.txt')]) hash.update(await readFile(file));
  const folder = join(checkout, '.kubus/cache/python', hash.digest('hex').slice(0, 16));
  const there = await access(folder).then(
    () => true,
    () => false,
  );
  if (!there) {
    const part = `${folder}.${process.pid}`;
    await mkdir(join(folder, '..'), { recursive: true });
    const { failure } = await ran(setup, [part]);
    if (failure !== undefined) {
      await rm(part, { recursive: true, force: true });
      return { missing: failure };
    }
    // Another test may have installed it meanwhile: the result is the same. Python finds its packages by the place of its link.
    await rename(part, folder).catch(() => rm(part, { recursive: true, force: true }));
  }
  const python = ['env', 'PYTHONDONTWRITEBYTECODE=1', join(folder, 'bin/python')];
  return { command: (script, ...args) => [...python, join(pythonExamples, script), ...args] };
}

/** The output of a program; with its last line when it fails. */
async function ran(program: string, args: readonly string[]): Promise<{ stdout: string; failure: string | undefined }> {
  try {
    const { code, stdout, stderr } = await startCommand(program, args, {}).outcome;
    return { stdout, failure: code === 0 ? undefined : (stderr.trim().split('\n').at(-1) ?? `it ended with ${code}`) };
  } catch (error) {
    return { stdout: '', failure: String(error) };
  }
}
