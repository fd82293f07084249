import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { promisify } from 'node:util';
import { cacheFile } from './cache-file.ts';
import { NodeImageError } from './errors.ts';

const run = promisify(execFile);
const common = ['-O2', '-s', '-Wall', '-Werror'];

/**
 * Compiles one C file to a static program and returns its path in `cacheDir`. The name contains a digest of the source, of the files that it
 * includes (`included`), the compiler's version and the flags. A program is compiled once per such input; processes may share the folder.
 *
 * @throws NodeImageError `CompilerMissing`, or `CompileFailed` with the compiler's messages.
 */
export function compileStatic(source: string, cacheDir: string, included: readonly string[] = []): Promise<string> {
  return compile(source, cacheDir, included, ['-static', ...common]);
}

/** The same for an addon of Node.js, which the dynamic linker loads. */
export function compileAddon(source: string, cacheDir: string): Promise<string> {
  return compile(source, cacheDir, [], ['-shared', '-fPIC', ...common]);
}

async function compile(
  source: string,
  cacheDir: string,
  included: readonly string[],
  flags: readonly string[],
): Promise<string> {
  const version = await gcc(
    ['--version'],
    'CompilerMissing',
    'No C compiler found: install the packages gcc and libc6-dev',
  );
  const contents = await Promise.all([source, ...included].map((file) => readFile(file)));
  const hash = createHash('sha256');
  for (const part of [...contents, version, flags.join(' ')]) hash.update(part);
  const digest = hash.digest('hex');
  const program = join(cacheDir, `${basename(source, '.c')}-${digest.slice(0, 12)}`);
  return cacheFile(program, async (partial) => {
    await gcc([...flags, '-o', partial, source], 'CompileFailed', `Cannot compile ${source}`);
  });
}

async function gcc(args: readonly string[], code: string, message: string): Promise<string> {
  try {
    const { stdout } = await run('gcc', args);
    return stdout;
  } catch (cause) {
    const detail = (cause as { stderr?: string }).stderr?.trim();
    throw new NodeImageError(code, detail ? `${message}: ${detail}` : message, { cause });
  }
}
