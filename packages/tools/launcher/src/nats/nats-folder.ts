import { MAX_NODES, serverConfig } from '@kubus/bus-nats';
import { copyFile, mkdir, readdir, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { LauncherError } from '../errors.ts';
import { type InstanceCounts, ensureIdentities, missingIdentities } from './identities.ts';
import { NATS_PORT, serverNode } from './nats-server.ts';
import { type NodeDir, nodeDir } from '../node/node-dir.ts';
import { identitiesFolder } from '../node/node-settings.ts';
import { isLoopback } from './server-url.ts';

/**
 * The folder with the configuration of an external NATS server and the secret keys of the nodes that use it:
 *
 * - `server/nats.conf`: the server's configuration, with public keys only. It has its own folder, so that the folder can be mounted into a
 *   container: a mounted file would not show its replacement.
 * - `identities/<node>/<instance>.nk`: the keys, mode 0600; they are kept when a node is taken down.
 */
export interface NatsFolder {
  readonly config: string;
  readonly identities: string;
}

/** The layout of the folder at `path`. */
export function natsFolder(path: string): NatsFolder {
  return { config: join(path, 'server', 'nats.conf'), identities: join(path, 'identities') };
}

/** How the server listens. */
export interface NatsListening {
  /** IP address or host name. */
  readonly host: string;
  /** Paths of its certificate and key (PEM) on the server's machine. Default: no TLS. */
  readonly tls?: { readonly cert: string; readonly key: string } | undefined;
}

function checkListening({ host, tls }: NatsListening): void {
  if (tls !== undefined || isLoopback({ host, port: NATS_PORT })) return;
  const why = 'anyone who can change its traffic is root on the nodes';
  throw new LauncherError(
    'NoTls',
    `Refusing a NATS server at ${host} without TLS, since ${why}: add --tls-cert and --tls-key`,
  );
}

/**
 * Creates the missing identities of a node, and writes the server's configuration for all nodes of the folder. A running server has to
 * reload it. Returns the nodes.
 *
 * @throws LauncherError `InvalidNodeName`; `NoTls` for a server that is reachable from other machines without TLS; `TooManyNodes` when the
 * server's limit of nodes is reached.
 */
export async function addNode(
  folder: NatsFolder,
  node: string,
  counts: InstanceCounts = {},
  listening: NatsListening = { host: '127.0.0.1' },
): Promise<string[]> {
  checkListening(listening);
  // Refuses an invalid node name before it becomes part of a path.
  nodeDir(node);
  await mkdir(folder.identities, { recursive: true, mode: 0o700 });
  const names = [...new Set([...(await readdir(folder.identities)), node])].sort();
  if (names.length > MAX_NODES) {
    const hint = 'use another folder and server, or delete the folder of a node that no longer exists';
    throw new LauncherError('TooManyNodes', `${folder.identities} already has ${MAX_NODES} nodes, the limit: ${hint}`);
  }
  const nodes = await Promise.all(
    names.map(async (name) => {
      const identities = await ensureIdentities(join(folder.identities, name), name === node ? counts : {});
      return serverNode(name, identities);
    }),
  );
  // Without JetStream's folder, so that the file works on every machine and in a container.
  const config = serverConfig({ ...listening, port: NATS_PORT, serverName: 'kubus', nodes });
  await mkdir(join(folder.config, '..'), { recursive: true, mode: 0o700 });
  await writeFile(`${folder.config}.new`, config, { mode: 0o600 });
  await rename(`${folder.config}.new`, folder.config);
  return names;
}

/**
 * The folder of a node's identities.
 *
 * @throws LauncherError `NoIdentities` when a key is missing.
 */
export async function identitiesOf(folder: NatsFolder, node: string, counts: InstanceCounts = {}): Promise<string> {
  const identities = join(folder.identities, node);
  const missing = await missingIdentities(identities, counts);
  if (missing.length === 0) return identities;
  const hint = `create them with "kubus identities", and reload the NATS server with ${folder.config}`;
  throw new LauncherError(
    'NoIdentities',
    `Node ${node} has no keys for ${missing.join(', ')} in ${identities}: ${hint}`,
  );
}

/** Copies the keys in the folder `identities` to the node's own folder. */
export async function takeIdentities(identities: string, dir: Pick<NodeDir, 'config'>): Promise<void> {
  const own = identitiesFolder(dir);
  await mkdir(own, { recursive: true, mode: 0o700 });
  for (const file of await readdir(identities)) {
    if (file.endsWith('.nk')) await copyFile(join(identities, file), join(own, file));
  }
}
