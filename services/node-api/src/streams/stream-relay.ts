import { KubusError } from '@kubus/ports';
import { type ChildProcessByStdio, spawn } from 'node:child_process';
import { once } from 'node:events';
import { Socket } from 'node:net';
import type { Readable, Writable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { TLSSocket } from 'node:tls';
import { type Limits, type Passed, type UpgradedServer } from './upgrade-proxy.ts';
import type { Upgrade } from '../server/upgrades.ts';

/** Takes a client whose connection is not encrypted: the relay does not support TLS. */
export type PlainUpgrade = Upgrade & { readonly socket: Socket };

export function isPlain(upgrade: Upgrade): upgrade is PlainUpgrade {
  return upgrade.socket instanceof Socket && !(upgrade.socket instanceof TLSSocket);
}

/**
 * The same as `proxyUpgrade`, in a separate process (`relay/stream-relay.c`) that lets the kernel forward the bytes: this process
 * then has nothing to do, and uses no memory for them.
 *
 * @param program the compiled relay
 */
export async function relayUpgrade(
  program: string,
  { socket: client, head }: PlainUpgrade,
  { socket: runtime, head: answer, webSocket }: UpgradedServer,
  { idleMs, lingerMs, signal }: Limits,
): Promise<Passed> {
  // From here until the other process has the connections nothing is read.
  const toClient = Buffer.concat([answer, ...unread(runtime)]);
  const toRuntime = Buffer.concat([head, ...unread(client)]);
  const args = [idleMs, lingerMs, Number(webSocket), toClient.length, toRuntime.length].map(String);
  const relay = startRelay(program, args, client, runtime);
  const end = () => relay.stdin.destroy();
  // Its end is still noticed.
  relay.stdin.on('error', () => undefined);
  signal.addEventListener('abort', end, { once: true });
  relay.stdin.write(toClient);
  relay.stdin.write(toRuntime);
  try {
    const [output] = await Promise.all([text(relay.stdout), once(relay, 'close')]);
    const [, received, sent, problem = ''] = /^(\d+) (\d+) (.*)\n$/.exec(output) ?? [];
    const passed = { received: Number(received ?? 0), sent: Number(sent ?? 0) };
    if (received !== undefined && problem === '') return passed;
    const why = problem === '' ? 'its relay has ended' : problem;
    throw new KubusError('broken', `the connection was broken: ${why}`, { context: passed });
  } finally {
    signal.removeEventListener('abort', end);
  }
}

/** From this call on only the relay has the connections. Throws when a connection no longer exists. */
function startRelay(
  program: string,
  args: readonly string[],
  client: Socket,
  runtime: Socket,
): ChildProcessByStdio<Writable, Readable, null> {
  try {
    const relay = spawn(program, args, { env: {}, stdio: ['pipe', 'pipe', 'ignore', client, runtime] });
    // The types of Node.js allow at most three descriptors.
    return relay as ChildProcessByStdio<Writable, Readable, null>;
  } finally {
    client.destroy();
    runtime.destroy();
  }
}

function unread(socket: Socket): Buffer[] {
  const bytes = socket.read() as Buffer | null;
  return bytes === null ? [] : [bytes];
}
