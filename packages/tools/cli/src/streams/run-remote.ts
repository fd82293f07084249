import type { RemoteCommand, SpdyStream } from '@kubus/node-client';
import { writeTo } from '../output/output-stream.ts';

/**
 * Connects standard input and output to a remote command, and resolves with its exit code.
 *
 * @param options.raw sets this terminal to raw mode: every key goes to the command, Ctrl-C too
 */
export async function runRemote(remote: RemoteCommand, { raw }: { readonly raw: boolean }): Promise<number> {
  const { stdin, stdout } = process;
  const resize = () => remote.resize({ columns: stdout.columns, rows: stdout.rows });
  const isRaw = raw && stdin.isTTY;
  if (isRaw) stdin.setRawMode(true);
  if (raw && stdout.isTTY) {
    stdout.on('resize', resize);
    resize();
  }
  try {
    if (remote.stdin !== undefined) stdin.pipe(remote.stdin);
    await Promise.all([
      show(remote.stdout, stdout),
      ...(remote.stderr === undefined ? [] : [show(remote.stderr, process.stderr)]),
    ]);
    return await remote.outcome();
  } finally {
    stdout.off('resize', resize);
    if (isRaw) stdin.setRawMode(false);
    await remote.close();
  }
}

async function show(from: SpdyStream, to: NodeJS.WriteStream): Promise<void> {
  for await (const chunk of from as AsyncIterable<Buffer>) await writeTo(to, chunk);
}
