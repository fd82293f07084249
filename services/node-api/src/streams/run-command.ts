import { RemoteCommand, type SpdyStream, StreamingServer } from '@kubus/node-client';

/** How much of each output is kept, in bytes, as with containerd's ExecSync. */
const OUTPUT_BYTES = 16 * 1024 * 1024;

/** The result of a command that was run to its end. */
export interface CommandOutput {
  readonly stdout: Buffer;
  readonly stderr: Buffer;
  readonly exitCode: number;
}

/**
 * Runs a command that the runtime has prepared to its end, past the bus (rule:streams-off-the-bus).
 *
 * @param url at the runtime's streaming server
 *
 * Rejects with a NodeClientError when it could not be run, when the connection is lost and when `signal` is aborted.
 */
export async function runCommand(url: URL, signal: AbortSignal): Promise<CommandOutput> {
  const connected = { stdin: false, tty: false };
  const command = await RemoteCommand.open(new StreamingServer(url, signal), `${url.pathname}${url.search}`, connected);
  const end = () => void command.close();
  signal.addEventListener('abort', end, { once: true });
  try {
    const outputs = [command.stdout, command.stderr].map((stream) => firstBytes(stream));
    const [stdout = Buffer.alloc(0), stderr = Buffer.alloc(0)] = await Promise.all(outputs);
    return { stdout, stderr, exitCode: await command.outcome() };
  } finally {
    signal.removeEventListener('abort', end);
    await command.close();
  }
}

/** What comes after them is read, too: the command would wait otherwise. */
async function firstBytes(stream: SpdyStream | undefined): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let left = OUTPUT_BYTES;
  for await (const chunk of (stream ?? []) as AsyncIterable<Buffer>) {
    if (left > 0) chunks.push(chunk.subarray(0, left));
    left -= chunk.length;
  }
  return Buffer.concat(chunks);
}
