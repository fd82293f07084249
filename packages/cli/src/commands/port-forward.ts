import type { Pod } from '@kubus/contracts';
import { type NodeClient, NodeClientError } from '@kubus/node-client';
import { toError } from '@kubus/ports';
import type { Command } from 'commander';
import { once } from 'node:events';
import { type AddressInfo, type Socket, createServer } from 'node:net';
import { findPod } from '../api-pods.ts';
import { nodeApi, rootDirOption } from '../node-socket.ts';
import { forwardConnection } from '../streams/forward-connection.ts';
import { parsePortPair } from '../streams/port-pairs.ts';
import { UserError } from '../user-error.ts';

interface PortForwardOptions {
  namespace: string;
  address: string[];
}

export function addPortForward(program: Command): void {
  program
    .command('port-forward')
    .argument('<pod>', 'the pod')
    .argument('<ports...>', 'LOCAL:REMOTE, REMOTE for the same on both sides, :REMOTE for any free local port')
    .description('lead local ports to ports of a pod, until Ctrl-C or the pod’s end')
    .option('-n, --namespace <namespace>', 'its namespace', 'default')
    .option('--address <address...>', 'local addresses to listen on', ['127.0.0.1'])
    .addOption(rootDirOption())
    .action(async (pod: string, ports: string[], options: PortForwardOptions, command: Command) => {
      await portForward(nodeApi(command), pod, ports, options);
    });
}

async function portForward(
  client: NodeClient,
  name: string,
  ports: readonly string[],
  options: PortForwardOptions,
): Promise<void> {
  const pod = await findPod(client, name, options.namespace);
  const pairs = ports.map((text) => parsePortPair(text, pod));
  const { promise: over, resolve: end, reject: fail } = Promise.withResolvers<undefined>();
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => end(undefined));
  for (const { local, remote } of pairs) {
    const take = (connection: Socket) => void forward(connection, client, pod, remote).catch(fail);
    let from = local;
    // A free port is the same one on every address.
    for (const address of options.address) from = await listen(take, { address, port: from, remote });
  }
  await over;
}

/** Rejects when the pod is no more; what else is wrong with one connection is told, and ends that one alone. */
async function forward(local: Socket, client: NodeClient, { metadata }: Pod, remote: number): Promise<void> {
  const { localPort = 0 } = local;
  console.log(`Handling connection for ${localPort}`);
  const tell = (problem: string) => console.error(`an error occurred forwarding ${localPort} -> ${remote}: ${problem}`);
  try {
    const problem = await forwardConnection(local, client, metadata, remote);
    if (problem !== undefined) tell(problem);
  } catch (error) {
    local.resetAndDestroy();
    if (isGone(error)) throw new UserError(`lost connection to pod: ${metadata.name} is gone`);
    tell(toError(error).message);
  }
}

/** @returns the port */
async function listen(
  take: (connection: Socket) => void,
  { address, port, remote }: { address: string; port: number; remote: number },
): Promise<number> {
  const server = createServer({ allowHalfOpen: true, noDelay: true }, take);
  server.listen(port, address);
  await once(server, 'listening').catch((error: unknown) => {
    throw new UserError(`unable to listen on port ${port} of ${address}: ${toError(error).message}`);
  });
  const { port: taken } = server.address() as AddressInfo;
  console.log(`Forwarding from ${address.includes(':') ? `[${address}]` : address}:${taken} -> ${remote}`);
  return taken;
}

/** The pod is none of the node's any more: nothing will come of another try. */
function isGone(error: unknown): boolean {
  return error instanceof NodeClientError && error.context['status'] === 404;
}
