import { access, constants, readFile, writeFile } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { toError } from '@kubus/ports';
import { parse } from 'yaml';
import * as z from 'zod';
import { LauncherError } from '../errors.ts';
import type { NodeDir } from '../node/node-dir.ts';
import { type ServerAddress, hostOf, startPublisher, startRelay } from './port-relay.ts';
import type { StartedProcess } from '../processes/start-process.ts';

/** The name under which the process is recorded. */
export const apiRelay = 'api-relay';

/** The name of the other relay: from the machine to the node's own API. */
export const apiPublisher = 'api-publisher';

/** TCP port on the loopback of a network namespace of the node's own on which its services reach the API server. */
export const API_PORT = 6443;

/** Fields of a kubeconfig that name files, relative to its own folder. */
const clusterFiles = ['certificate-authority'] as const;
const userFiles = ['client-certificate', 'client-key', 'tokenFile'] as const;

const kubeconfigSchema = z.looseObject({
  'current-context': z.string(),
  contexts: z.array(
    z.looseObject({ name: z.string(), context: z.looseObject({ cluster: z.string(), user: z.string() }) }),
  ),
  clusters: z.array(z.looseObject({ name: z.string(), cluster: z.looseObject({ server: z.url() }) })),
  users: z.array(z.looseObject({ name: z.string(), user: z.looseObject({}).nullish() })),
});

/** The node's own kubeconfig. */
export function nodeKubeconfig(dir: NodeDir): string {
  return join(dir.config, 'kubeconfig');
}

/**
 * Checks a kubeconfig before a node is started with it.
 *
 * @throws LauncherError `BadKubeconfig` with file and field.
 */
export async function checkKubeconfig(path: string): Promise<void> {
  const { cluster, user } = await readContext(path);
  const files = [
    ...namedFiles(cluster.cluster, clusterFiles, dirname(path)),
    ...namedFiles(user.user ?? {}, userFiles, dirname(path)),
  ];
  for (const [field, file] of files) {
    await access(file, constants.R_OK).catch((error: unknown) => {
      throw bad(path, `${field}: ${toError(error).message}`, error);
    });
  }
}

/**
 * Writes the node's kubeconfig: the current context of the given one, with the relay instead of the server. Files that it names stay where
 * they are.
 *
 * @param port that of the relay on the loopback
 * @returns the address of the server.
 * @throws LauncherError `BadKubeconfig` with file and field.
 */
export async function writeRelayedKubeconfig(dir: NodeDir, path: string, port: number): Promise<ServerAddress> {
  const { context, cluster, user, rest } = await readContext(path);
  const folder = dirname(path);
  const url = new URL(cluster.cluster.server);
  const relayed = {
    // The name in the server's certificate.
    'tls-server-name': url.hostname,
    ...withAbsolute(cluster.cluster, clusterFiles, folder),
    server: Object.assign(new URL(url), { host: `127.0.0.1:${port}` }).href,
  };
  const own = {
    ...rest,
    contexts: [context],
    clusters: [{ ...cluster, cluster: relayed }],
    users: [{ ...user, user: withAbsolute(user.user ?? {}, userFiles, folder) }],
  };
  await writeFile(nodeKubeconfig(dir), JSON.stringify(own), { mode: 0o600 });
  return { host: hostOf(url), port: Number(url.port === '' ? (url.protocol === 'https:' ? 443 : 80) : url.port) };
}

/** Starts the relay through which the node's services reach an API server in the machine's network. */
export function startApiRelay(
  dir: NodeDir,
  program: string,
  port: number,
  server: ServerAddress,
): Promise<StartedProcess> {
  return startRelay({ dir, what: apiRelay, program, listen: String(port), server });
}

/** Starts the relay through which users of the machine reach the node's own API, on a port of the machine's loopback. */
export function startApiPublisher(dir: NodeDir, program: string, port: number): Promise<StartedProcess> {
  const server = { host: '127.0.0.1', port: API_PORT };
  return startPublisher({ dir, what: apiPublisher, program, listen: `127.0.0.1:${port}`, server });
}

/** The current context of a kubeconfig with its cluster and user, and the fields besides the three lists. */
async function readContext(path: string) {
  const { contexts, clusters, users, ...rest } = await readKubeconfig(path);
  const current = rest['current-context'];
  const context = contexts.find(({ name }) => name === current);
  const cluster = clusters.find(({ name }) => name === context?.context.cluster);
  const user = users.find(({ name }) => name === context?.context.user);
  if (context === undefined || cluster === undefined || user === undefined) {
    throw bad(path, `current-context "${current}" does not exist, or has no cluster or user`);
  }
  return { context, cluster, user, rest };
}

async function readKubeconfig(path: string): Promise<z.infer<typeof kubeconfigSchema>> {
  let document: unknown;
  try {
    document = parse(await readFile(path, 'utf8'));
  } catch (error) {
    throw bad(path, toError(error).message.split('\n')[0] ?? '', error);
  }
  const parsed = kubeconfigSchema.safeParse(document);
  if (parsed.success) return parsed.data;
  throw bad(
    path,
    parsed.error.issues
      .map(({ path: at, message }) => (at.length === 0 ? message : `${at.join('.')}: ${message}`))
      .join('; '),
  );
}

function withAbsolute(fields: Readonly<Record<string, unknown>>, names: readonly string[], folder: string): object {
  return { ...fields, ...Object.fromEntries(namedFiles(fields, names, folder)) };
}

/** The files that these fields name, as absolute paths. */
function namedFiles(
  fields: Readonly<Record<string, unknown>>,
  names: readonly string[],
  folder: string,
): [field: string, path: string][] {
  return names.flatMap((name) => {
    const file = fields[name];
    return typeof file === 'string' ? [[name, resolve(folder, file)]] : [];
  });
}

function bad(path: string, message: string, cause?: unknown): LauncherError {
  return new LauncherError('BadKubeconfig', `${path}: ${message}`, { cause, context: { path } });
}
