import { UserError } from './user-error.ts';

/** The channels of a remote command's WebSocket (protocol `v4.channel.k8s.io`): the first byte of each message. */
const CHANNEL = { stdout: 1, stderr: 2, error: 3 } as const;

/** The last message of the error channel. */
interface ExitStatus {
  readonly status?: string;
  readonly message?: string;
  readonly details?: { readonly causes?: readonly { readonly reason?: string; readonly message?: string }[] };
}

/** Prints what a command writes that the runtime serves at `url`, past the bus. Resolves with the command's exit code. */
export function readStreams(url: string): Promise<number> {
  return new Promise((resolve, reject) => {
    const socket = new WebSocket(url.replace(/^http/, 'ws'), ['v4.channel.k8s.io']);
    socket.binaryType = 'arraybuffer';
    let exit: ExitStatus | undefined;
    socket.addEventListener('message', ({ data }: { data: unknown }) => {
      if (!(data instanceof ArrayBuffer)) return;
      const message = Buffer.from(data);
      const payload = message.subarray(1);
      if (message[0] === CHANNEL.stdout) process.stdout.write(payload);
      else if (message[0] === CHANNEL.stderr) process.stderr.write(payload);
      else if (message[0] === CHANNEL.error) exit = JSON.parse(payload.toString()) as ExitStatus;
    });
    socket.addEventListener('error', () => reject(new UserError(`the runtime does not serve the command at ${url}`)));
    socket.addEventListener('close', () => {
      if (exit === undefined) reject(new UserError('the connection to the command was lost'));
      else resolve(exitCode(exit));
    });
  });
}

function exitCode({ status, message, details }: ExitStatus): number {
  if (status === 'Success') return 0;
  const code = details?.causes?.find(({ reason }) => reason === 'ExitCode')?.message;
  if (code !== undefined) return Number(code);
  throw new UserError(message ?? 'the command could not be run');
}
