import type { Clock } from '@kubus/ports';
import { type Attempt, joinHostPort } from '@kubus/probe';
import { connect } from 'node:net';
import { networkErrorText } from './network-errors.ts';
import { TimeLimit } from './time-limit.ts';

/** Makes a tcpSocket probe: succeeds when the connection is established. */
export async function probeTcp(
  host: string,
  port: number,
  { clock, timeoutMs, cancelled }: { clock: Clock; timeoutMs: number; cancelled: AbortSignal },
): Promise<Attempt> {
  const limit = new TimeLimit(clock, timeoutMs, cancelled);
  const address = joinHostPort(host, port);
  const socket = connect({ host, port });
  try {
    return await new Promise<Attempt>((resolve) => {
      const fail = (output: string) => resolve({ result: 'failure', output });
      socket.once('connect', () => resolve({ result: 'success', output: '' }));
      socket.on('error', (error) => fail(networkErrorText(error, address)));
      limit.signal.addEventListener('abort', () => fail(`dial tcp ${address}: i/o timeout`), { once: true });
      if (limit.signal.aborted) fail(`dial tcp ${address}: i/o timeout`);
    });
  } finally {
    limit.end();
    // A reset leaves no half-closed connection behind; with a probe per second they add up.
    socket.resetAndDestroy();
  }
}
