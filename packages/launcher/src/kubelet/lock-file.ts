import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { LauncherError } from '../errors.ts';

/** The lock of `--lock-file`, held until this process ends or lets it go. */
export interface FileLock {
  release(): void;
}

/**
 * Waits for the lock on a file (kubelet behaviour 1.26).
 *
 * @param options.program the compiled hold-lock: Node can not lock files.
 * @param options.onContention called when somebody else opens or removes the file.
 * @throws LauncherError `LockFailed` when the file can not be locked at all.
 */
export async function lockFile(options: {
  readonly path: string;
  readonly program: string;
  readonly onContention: () => void;
}): Promise<FileLock> {
  const { path, program, onContention } = options;
  const holder = spawn(program, [path], { stdio: ['pipe', 'pipe', 'pipe'] });
  let said = '';
  holder.stderr.setEncoding('utf8').on('data', (text: string) => (said += text));
  const ended = once(holder, 'close').then(() => 'ended');
  const lines = createInterface({ input: holder.stdout });
  const locked = new Promise<string>((resolve) => {
    lines.on('line', (line) => {
      if (line === 'locked') resolve(line);
      else onContention();
    });
  });
  if ((await Promise.race([locked, ended])) === 'ended') {
    const message = `unable to acquire file lock on "${path}" (--lock-file): ${said.trim()}`;
    throw new LauncherError('LockFailed', message, { context: { path } });
  }
  return { release: () => holder.stdin.end() };
}
