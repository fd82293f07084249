import { toError } from '@kubus/ports';

/** What shells tell of a program that SIGPIPE has ended: 128 and the number of the signal. */
const READER_GONE = 141;

/** Writes as fast as whoever reads it. */
export async function writeTo(stream: NodeJS.WriteStream, bytes: Uint8Array): Promise<void> {
  await new Promise((resolve) => stream.write(bytes, resolve));
}

/**
 * A program whose output nobody reads any more, such as before `head`, ends without a word. One that has something to undo
 * first does so, as if it were asked to end. Complaints that nobody reads are no reason to end.
 */
export function endWithReader(): void {
  let isEnding = false;
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    if (isEnding) return;
    isEnding = true;
    if (error.code !== 'EPIPE') console.error(`kubus: the output can not be written: ${toError(error).message}`);
    process.exitCode = error.code === 'EPIPE' ? READER_GONE : 1;
    if (process.listenerCount('SIGTERM') > 0) process.kill(process.pid, 'SIGTERM');
    else process.exit();
  });
  process.stderr.on('error', () => undefined);
}
