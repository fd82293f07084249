import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { LauncherError } from '../errors.ts';

const run = promisify(execFile);

/** A program and its arguments; never a shell line. */
export type Command = readonly [program: string, ...args: string[]];

/**
 * Runs a short command to its end and returns what it wrote to standard output.
 *
 * @throws LauncherError `CommandMissing` when there is no such program; `CommandFailed` with its standard error.
 */
export async function runCommand([program, ...args]: Command): Promise<string> {
  try {
    const { stdout } = await run(program, args, { maxBuffer: 64 * 1024 * 1024 });
    return stdout;
  } catch (cause) {
    const { code, stderr } = cause as { code?: unknown; stderr?: string };
    if (code === 'ENOENT') {
      throw new LauncherError('CommandMissing', `The program ${program} is not in PATH: install it`, {
        cause,
        context: { program },
      });
    }
    const output = stderr?.trim() ?? String(cause);
    throw new LauncherError('CommandFailed', `${[program, ...args].join(' ')}: ${output}`, {
      cause,
      context: { program },
    });
  }
}
