import { KubusError } from '@kubus/ports';
import { type ChildProcessByStdio, spawn } from 'node:child_process';
import { once } from 'node:events';
import { Socket } from 'node:net';
import type { Readable, Writable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { TLSSocket } from 'node:tls';
import { type Limits, LINGER_MS, type Passed, type UpgradedServer } from './upgrade-proxy.ts';
import type { Upgrade } from './upgrades.ts';

/** Of a client whose bytes are on its connection as they are: the relay knows no TLS. */
export type PlainUpgrade = Upgrade & { readonly socket: Socket };

export function isPlain(upgrade: Upgrade): upgrade is PlainUpgrade {
  return upgrade.socket instanceof Socket && !(upgrade.socket instanceof TLSSocket);
}

/**
 * The same as `proxyUpgrade`, in a process of its own (`relay/stream-relay.c`) that has the kernel pass the bytes: this one
 * has nothing to do while they do, and uses no memory for them.
 *
 * @param program the compiled relay
 */
export async function relayUpgrade(
  program: string,
  { socket: client, head }: PlainUpgrade,
  { socket: runtime, head: answer }: UpgradedServer,
  { idleMs, signal }: Limits,
): Promise<Passed> {
  // Nothing is read between here and the process that has the connections then.
  const toClient = Buffer.concat([answer, ...unread(runtime)]);
  const toRuntime = Buffer.concat([head, ...unread(client)]);
  const args = [idleMs, LINGER_MS, toClient.length, toRuntime.length].map(String);
  const relay = startRelay(program, args, client, runtime);
  const end = () => relay.stdin.destroy();
  // Its end is heard of all the same.
  relay.stdin.on('error', () => undefined);
  signal.addEventListener('abort', end, { once: true });
  relay.stdin.write(toClient);
  relay.stdin.write(toRuntime);
  try {
    const [said] = await Promise.all([text(relay.stdout), once(relay, 'close')]);
    const [, received, sent, problem = ''] = /^(\d+) (\d+) (.*)\n$/.exec(said) ?? [];
    const passed = { received: Number(received ?? 0), sent: Number(sent ?? 0) };
    if (received !== undefined && problem === '') return passed;
    const why = problem === '' ? 'its relay has ended' : problem;
    throw new KubusError('broken', `the connection broke off: ${why}`, { context: passed });
  } finally {
    signal.removeEventListener('abort', end);
  }
}

/** The connections are the relay's alone from then on. Throws when there is one no more. */
function startRelay(
  program: string,
  args: readonly string[],
  client: Socket,
  runtime: Socket,
): ChildProcessByStdio<Writable, Readable, null> {
  try {
    const relay = spawn(program, args, { env: {}, stdio: ['pipe', 'pipe', 'ignore', client, runtime] });
    // Node's types know three descriptors at most.
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
