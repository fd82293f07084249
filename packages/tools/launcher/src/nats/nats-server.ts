import { type HubLink, type KeyedIdentity, type ServerNode, permissionsOf, serverConfig } from '@kubus/bus-nats';
import { type ServiceContract, type ServiceName, serviceContracts } from '@kubus/contracts';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { inNetworkNamespace } from '../network/network-namespace.ts';
import type { NodeDir } from '../node/node-dir.ts';
import { type StartedProcess, startProcess } from '../processes/start-process.ts';

/** TCP port of the NATS server; in the node's own network namespace it conflicts with nothing. */
export const NATS_PORT = 4222;

/** Where the services of a node reach NATS on its own loopback: its own server, or the relay to an external one. */
export function ownNatsUrl(port = NATS_PORT): string {
  return `nats://127.0.0.1:${port}`;
}

type Contracts = Readonly<Record<ServiceName, ServiceContract>>;

/** The configuration of a node on a NATS server: each identity may do exactly what its service's contract declares. */
export function serverNode(
  node: string,
  identities: readonly KeyedIdentity[],
  contracts: Contracts = serviceContracts,
): ServerNode {
  return {
    node,
    users: identities.map((identity) => ({ identity, permissions: permissionsOf(identity, node, contracts) })),
  };
}

/** The file of the server's configuration, with keys and permissions of the node's identities. */
export function natsConfigFile(dir: Pick<NodeDir, 'config'>): string {
  return join(dir.config, 'nats.conf');
}

/** The folder of the server's streams. */
export function natsStore(dir: Pick<NodeDir, 'root'>): string {
  return join(dir.root, 'nats');
}

/** Writes the configuration of a NATS server for this node alone. */
export async function writeNatsConfig(
  dir: Pick<NodeDir, 'node' | 'config' | 'root'>,
  identities: readonly KeyedIdentity[],
  port: number,
  { contracts = serviceContracts, hub }: { contracts?: Contracts; hub?: HubLink | undefined } = {},
): Promise<void> {
  const config = serverConfig({
    host: '127.0.0.1',
    port,
    storeDir: natsStore(dir),
    serverName: dir.node,
    nodes: [serverNode(dir.node, identities, contracts)],
    hub,
  });
  await writeFile(natsConfigFile(dir), config, { mode: 0o600 });
}

/**
 * The server's garbage is collected when it is three tenths of what is in use, where Go waits until it is as much: what has a place in memory under load
 * keeps it later, and with a half a node grew by 1.1 MiB more over 5,000 pods, and needed 2.8 ms of CPU less for each. Memory that a burst needed is given back.
 * It has one processor: it needs less than a tenth of it, and Go keeps free memory for each.
 */
export const natsEnv: Readonly<Record<string, string>> = { GOGC: '30', GOMAXPROCS: '1', GOMEMLIMIT: '320MiB' };

/** Starts the node's own NATS server, without waiting until it is ready: clients reconnect by themselves. */
export function startNats(dir: NodeDir): Promise<StartedProcess> {
  return startProcess({
    dir,
    what: 'nats-server',
    command: inNetworkNamespace(dir.networkNamespace, ['nats-server', '-c', natsConfigFile(dir)]),
    env: natsEnv,
    log: join(dir.logs, 'nats-server.log'),
  });
}
