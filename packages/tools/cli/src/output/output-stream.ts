import { toError } from '@kubus/ports';
import { endProcess } from '@kubus/service-kit';
import { printError } from './output.ts';

/** The exit code that shells report for a process ended by SIGPIPE: 128 plus the number of the signal. */
const SIGPIPE_EXIT_CODE = 141;

/** Writes `bytes`; resolves when the stream has taken them, so that a slow reader slows the writer. */
export async function writeTo(stream: NodeJS.WriteStream, bytes: Uint8Array): Promise<void> {
  await new Promise((resolve) => stream.write(bytes, resolve));
}

/**
 * Ends this process silently when the reader of its standard output has closed the pipe, as in `kubus tail | head`. A command with a
 * SIGTERM handler (because it has something to undo) gets SIGTERM instead. A closed standard error is ignored.
 */
export function exitOnBrokenPipe(): void {
  let isEnding = false;
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    if (isEnding) return;
    isEnding = true;
    if (error.code !== 'EPIPE') printError(`kubus: writing standard output failed: ${toError(error).message}`);
    const code = error.code === 'EPIPE' ? SIGPIPE_EXIT_CODE : 1;
    process.exitCode = code;
    if (process.listenerCount('SIGTERM') > 0) process.kill(process.pid, 'SIGTERM');
    else void endProcess(code);
  });
  process.stderr.on('error', () => undefined);
}
