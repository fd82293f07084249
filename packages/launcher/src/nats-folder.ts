import { MAX_NODES, serverConfig } from '@kubus/bus-nats';
import { copyFile, mkdir, readdir, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { LauncherError } from './errors.ts';
import { type InstanceCounts, ensureIdentities, missingIdentities } from './identities.ts';
import { NATS_PORT, serverNode } from './nats-server.ts';
import { type NodeDir, nodeDir } from './node-dir.ts';
import { identitiesFolder } from './node-settings.ts';
import { isLoopback } from './server-url.ts';

/**
 * What a NATS server that is no node's own needs to know, and the secret keys of the nodes that use it:
 *
 * - `server/nats.conf`: the server's configuration, with public keys alone. A folder of its own, so that it can be shown
 *   to a container, which sees a replaced file only through its folder.
 * - `identities/<node>/<instance>.nk`: the keys, mode 0600, kept when a node is taken down.
 */
export interface NatsFolder {
  readonly config: string;
  readonly identities: string;
}

export function natsFolder(path: string): NatsFolder {
  return { config: join(path, 'server', 'nats.conf'), identities: join(path, 'identities') };
}

/** Where the server listens. */
export interface NatsListening {
  /** An address. */
  readonly host: string;
  /** Files of its certificate and key, PEM, as the server finds them; left out, it speaks no TLS. */
  readonly tls?: { readonly cert: string; readonly key: string } | undefined;
}

function checkListening({ host, tls }: NatsListening): void {
  if (tls !== undefined || isLoopback({ host, port: NATS_PORT })) return;
  const why = 'whoever can change what passes on the way is root on the nodes';
  throw new LauncherError(
    'NoTls',
    `A server at ${host} without TLS is refused, since ${why}: give it --tls-cert and --tls-key`,
  );
}

/**
 * Makes the identities of a node that are missing, and writes the configuration for all nodes of the folder. A server
 * that runs with it must be told to read it again. Returns the nodes.
 *
 * @throws LauncherError `InvalidNodeName`; `NoTls` for a server that others reach without it; `TooManyNodes` when the server has no room for one more.
 */
export async function addNode(
  folder: NatsFolder,
  node: string,
  counts: InstanceCounts = {},
  listening: NatsListening = { host: '127.0.0.1' },
): Promise<string[]> {
  checkListening(listening);
  // Refuses what is no node name before it becomes part of a path.
  nodeDir(node);
  await mkdir(folder.identities, { recursive: true, mode: 0o700 });
  const names = [...new Set([...(await readdir(folder.identities)), node])].sort();
  if (names.length > MAX_NODES) {
    const hint = 'take another folder and server, or remove the folder of a node that is no more';
    throw new LauncherError('TooManyNodes', `${folder.identities} holds ${MAX_NODES} nodes already: ${hint}`);
  }
  const nodes = await Promise.all(
    names.map(async (name) => {
      const identities = await ensureIdentities(join(folder.identities, name), name === node ? counts : {});
      return serverNode(name, identities);
    }),
  );
  // Without JetStream's folder: so the file means the same on every machine, and in a container.
  const config = serverConfig({ ...listening, port: NATS_PORT, serverName: 'kubus', nodes });
  await mkdir(join(folder.config, '..'), { recursive: true, mode: 0o700 });
  await writeFile(`${folder.config}.new`, config, { mode: 0o600 });
  await rename(`${folder.config}.new`, folder.config);
  return names;
}

/**
 * The folder of a node's identities.
 *
 * @throws LauncherError `NoIdentities` when not all of them are there.
 */
export async function identitiesOf(folder: NatsFolder, node: string, counts: InstanceCounts = {}): Promise<string> {
  const identities = join(folder.identities, node);
  const missing = await missingIdentities(identities, counts);
  if (missing.length === 0) return identities;
  const hint = `make them with "kubus identities", and let the NATS server read ${folder.config}`;
  throw new LauncherError('NoIdentities', `Node ${node} lacks ${missing.join(', ')} in ${identities}: ${hint}`);
}

/** Gives a node the identities in that folder, under which the server knows it. */
export async function takeIdentities(identities: string, dir: Pick<NodeDir, 'config'>): Promise<void> {
  const own = identitiesFolder(dir);
  await mkdir(own, { recursive: true, mode: 0o700 });
  for (const file of await readdir(identities)) {
    if (file.endsWith('.nk')) await copyFile(join(identities, file), join(own, file));
  }
}
