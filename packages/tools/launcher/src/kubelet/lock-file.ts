import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { LauncherError } from '../errors.ts';

/** The lock of `--lock-file`, held until it is released or this process ends. */
export interface FileLock {
  release(): void;
}

/**
 * Waits for the lock on a file (behaviour:configuration).
 *
 * @param options.program path of the compiled hold-lock: Node.js cannot lock files.
 * @param options.onContention called when another process opens or removes the file.
 * @throws LauncherError `LockFailed` when the file cannot be locked at all.
 */
export async function lockFile(options: {
  readonly path: string;
  readonly program: string;
  readonly onContention: () => void;
}): Promise<FileLock> {
  const { path, program, onContention } = options;
  const holder = spawn(program, [path], { stdio: ['pipe', 'pipe', 'pipe'] });
  let errors = '';
  holder.stderr.setEncoding('utf8').on('data', (text: string) => (errors += text));
  const ended = once(holder, 'close').then(() => 'ended');
  const lines = createInterface({ input: holder.stdout });
  const locked = new Promise<string>((resolve) => {
    lines.on('line', (line) => {
      if (line === 'locked') resolve(line);
      else onContention();
    });
  });
  if ((await Promise.race([locked, ended])) === 'ended') {
    const message = `unable to acquire file lock on "${path}" (--lock-file): ${errors.trim()}`;
    throw new LauncherError('LockFailed', message, { context: { path } });
  }
  return { release: () => holder.stdin.end() };
}
