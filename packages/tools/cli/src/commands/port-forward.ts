import type { Pod } from '@kubus/contracts';
import { type NodeClient, NodeClientError } from '@kubus/node-client';
import { toError } from '@kubus/ports';
import type { Command } from 'commander';
import { once } from 'node:events';
import { type AddressInfo, type Socket, createServer } from 'node:net';
import { findPod } from '../pods/api-pods.ts';
import { nodeApi, rootDirOption } from '../node/node-socket.ts';
import { forwardConnection } from '../streams/forward-connection.ts';
import { parsePortPair } from '../streams/port-pairs.ts';
import { UserError } from '../user-error.ts';
import { printKubusDocument } from '../output/documents.ts';
import { outputOption, print, printError } from '../output/output.ts';

interface PortForwardOptions {
  namespace: string;
  address: string[];
  output?: 'json' | 'yaml';
}

export function addPortForward(program: Command): void {
  program
    .command('port-forward')
    .argument('<pod>', 'name of the pod')
    .argument('<ports...>', 'LOCAL:REMOTE; REMOTE: the same port on both sides; :REMOTE: any free local port')
    .description('forward local ports to ports of a pod, until Ctrl-C or until the pod ends')
    .option('-n, --namespace <namespace>', 'namespace of the pod', 'default')
    .option('--address <address...>', 'local addresses to listen on', ['127.0.0.1'])
    .addOption(rootDirOption())
    .addOption(outputOption())
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
  // With --output, standard output is for the document alone.
  const say = options.output === undefined ? print : printError;
  const items: { address: string; port: number; remote: number }[] = [];
  for (const { local, remote } of pairs) {
    const take = (connection: Socket) => void forward(connection, { client, pod, remote, say }).catch(fail);
    let port = local;
    for (const address of options.address) {
      // A free port is the same one on every address.
      port = await listen(take, address, port);
      items.push({ address, port, remote });
      say(`Forwarding from ${address.includes(':') ? `[${address}]` : address}:${port} -> ${remote}`);
    }
  }
  if (options.output !== undefined) printKubusDocument('ForwardedPorts', { items }, options.output);
  await over;
}

interface Forwarding {
  readonly client: NodeClient;
  readonly pod: Pod;
  /** The port of the pod. */
  readonly remote: number;
  /** Prints a line. */
  readonly say: (text: string) => void;
}

/** Forwards one connection. Rejects when the pod no longer exists; any other problem is printed and ends only this connection. */
async function forward(local: Socket, { client, pod, remote, say }: Forwarding): Promise<void> {
  const { localPort = 0 } = local;
  const { metadata } = pod;
  say(`Handling connection for ${localPort}`);
  const report = (problem: string) => printError(`an error occurred forwarding ${localPort} -> ${remote}: ${problem}`);
  try {
    const problem = await forwardConnection(local, client, metadata, remote);
    if (problem !== undefined) report(problem);
  } catch (error) {
    local.resetAndDestroy();
    if (isPodMissing(error)) throw new UserError(`lost connection to pod ${metadata.name}: it no longer exists`);
    report(toError(error).message);
  }
}

/** @returns the TCP port that it listens on */
async function listen(take: (connection: Socket) => void, address: string, port: number): Promise<number> {
  const server = createServer({ allowHalfOpen: true, noDelay: true }, take);
  server.listen(port, address);
  await once(server, 'listening').catch((error: unknown) => {
    throw new UserError(`unable to listen on port ${port} of ${address}: ${toError(error).message}`);
  });
  const { port: taken } = server.address() as AddressInfo;
  return taken;
}

/** Whether the node no longer has the pod, so that another try is useless. */
function isPodMissing(error: unknown): boolean {
  return error instanceof NodeClientError && error.context['status'] === 404;
}
