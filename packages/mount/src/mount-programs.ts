import { KubusError } from '@kubus/ports';
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';

const run = promisify(execFile);

/** How long mount(8) or umount(8) may take. A local file system takes milliseconds. */
const LIMIT_MS = 30_000;

/** A mount could not be made or undone; the message is what the program said. */
export class MountError extends KubusError {}

/** A file system to be mounted. */
export interface MountRequest {
  readonly type: string;
  /** What is shown as its source; for a file system without a device any word. */
  readonly source: string;
  /** A folder that is there. */
  readonly target: string;
  readonly options: readonly string[];
}

/** Mounts a file system. Throws {@link MountError}. */
export async function mount({ type, source, target, options }: MountRequest): Promise<void> {
  const words = options.length === 0 ? [] : ['-o', options.join(',')];
  await runProgram(['mount', '-t', type, ...words, '--', source, target], target);
}

/** Undoes the last mount at `target`. Throws {@link MountError}, also when something in it is in use. */
export async function unmount(target: string): Promise<void> {
  await runProgram(['umount', '--', target], target);
}

/**
 * The program dies with this process (setpriv(1), --pdeathsig): what a later life reads of the mounts is not changed by
 * an earlier one's programs.
 */
async function runProgram(command: readonly [string, ...string[]], target: string): Promise<void> {
  try {
    await run('setpriv', ['--pdeathsig', 'KILL', '--', ...command], { timeout: LIMIT_MS, killSignal: 'SIGKILL' });
  } catch (cause) {
    const { stderr = '', message } = cause as { stderr?: string; message: string };
    const said = stderr.trim();
    throw new MountError('mount', said === '' ? message : said, { cause, context: { program: command[0], target } });
  }
}
