import { X509Certificate } from 'node:crypto';
import { copyFile, readFile, stat, writeFile } from 'node:fs/promises';
import { isIP } from 'node:net';
import { join } from 'node:path';
import { type HubLink, hubEvents } from '@kubus/bus-nats';
import { type ServiceContract, type ServiceName, serviceContracts } from '@kubus/contracts';
import { toError } from '@kubus/ports';
import { LauncherError } from '../errors.ts';
import type { NodeDir } from '../node/node-dir.ts';
import { type ServerAddress, startRelay } from '../network/port-relay.ts';
import { type TlsServer, isLoopback, parseServerUrl } from './server-url.ts';
import type { StartedProcess } from '../processes/start-process.ts';

/** The name under which the process is recorded. */
export const hubRelay = 'hub-relay';

/** Default TCP port of a hub for nodes, and the port of the relay to it in a private node's network namespace. */
export const HUB_PORT = 7422;

/** The hub as the user names it: a NATS server that collects the events of many nodes. */
export interface HubChoice {
  /** `nats-leaf://HOST:PORT` or `tls://HOST:PORT`. */
  readonly url: string;
  /** File with the CA certificates for a `tls://` hub. Default: the system's. */
  readonly ca?: string | undefined;
  /** File with `USER:PASSWORD`. */
  readonly credentials: string | undefined;
}

/** A hub with the credentials for the node's NATS server. */
export interface Hub {
  readonly server: TlsServer;
  readonly ca?: string | undefined;
  readonly user: string;
  /** Secret. */
  readonly password: string;
}

/**
 * Validates the choice and reads the credentials.
 *
 * @throws LauncherError `BadHubUrl`, `HubNoTls`, `BadHubCa`, `BadHubCredentials`.
 */
export async function readHub({ url, ca, credentials }: HubChoice): Promise<Hub> {
  const server = parseServerUrl(url, {
    name: 'hub',
    scheme: 'nats-leaf',
    port: HUB_PORT,
    code: 'BadHubUrl',
    noUser: 'put USER:PASSWORD into the file of --hub-credentials',
  });
  if (!server.tls && !isLoopback(server)) {
    throw new LauncherError(
      'HubNoTls',
      `The hub ${url} is not on this machine: use tls://, since the password is sent to it`,
    );
  }
  if (ca !== undefined) {
    if (!server.tls) throw new LauncherError('BadHubCa', `--hub-ca needs a tls:// hub: ${url} does not use TLS`);
    await checkAuthorities(ca);
  }
  if (credentials === undefined) {
    throw new LauncherError(
      'BadHubCredentials',
      `--hub ${url} needs --hub-credentials FILE; the file contains USER:PASSWORD`,
    );
  }
  return { server, ca, ...(await readCredentials(credentials)) };
}

/** Checked here, since a file that the NATS server cannot read would prevent the whole node from starting. */
async function checkAuthorities(file: string): Promise<void> {
  try {
    new X509Certificate(await readFile(file));
  } catch (error) {
    throw new LauncherError(
      'BadHubCa',
      `--hub-ca ${file} does not contain PEM certificates: ${toError(error).message}`,
      {
        cause: error,
      },
    );
  }
}

async function readCredentials(file: string): Promise<Pick<Hub, 'user' | 'password'>> {
  const bad = (what: string, cause?: unknown) =>
    new LauncherError('BadHubCredentials', `--hub-credentials ${file} ${what}`, { cause });
  const unreadable = (error: unknown) => bad(`cannot be read: ${toError(error).message}`, error);
  const { mode } = await stat(file).catch((error: unknown) => Promise.reject(unreadable(error)));
  if ((mode & 0o077) !== 0)
    throw bad(`is readable by others (mode ${(mode & 0o777).toString(8)}): run chmod 600 on it`);
  const text = await readFile(file, 'utf8').catch((error: unknown) => Promise.reject(unreadable(error)));
  // The error does not repeat the content.
  const [, user, password] = /^([^:\s]+):(\S+)\s*$/.exec(text) ?? [];
  if (user === undefined || password === undefined) throw bad('does not contain USER:PASSWORD in one line');
  return { user, password };
}

/** Copies the credentials and CA certificates to the node's folder, so that a restarted launcher has them. */
export async function keepHub(dir: Pick<NodeDir, 'config'>, { ca, user, password }: Hub): Promise<void> {
  await writeFile(credentialsFile(dir), `${user}:${password}\n`, { mode: 0o600 });
  if (ca !== undefined) await copyFile(ca, authoritiesFile(dir));
}

/** The hub whose credentials {@link keepHub} has copied; undefined when the node has none. */
export async function keptHub(
  dir: Pick<NodeDir, 'config'>,
  { hub: url, hubCa }: { readonly hub?: string | undefined; readonly hubCa: boolean },
): Promise<Hub | undefined> {
  if (url === undefined) return undefined;
  return readHub({ url, ca: hubCa ? authoritiesFile(dir) : undefined, credentials: credentialsFile(dir) });
}

function credentialsFile(dir: Pick<NodeDir, 'config'>): string {
  return join(dir.config, 'hub-credentials');
}

function authoritiesFile(dir: Pick<NodeDir, 'config'>): string {
  return join(dir.config, 'hub-ca.pem');
}

/** The leaf node connection of a NATS server that sends the events of its node to a hub. */
export function hubLink(
  node: string,
  { server, ca, user, password }: Hub,
  contracts: Readonly<Record<ServiceName, ServiceContract>> = serviceContracts,
): HubLink {
  return {
    node,
    urls: [hubUrl(server, user, password)],
    tls: server.tls ? { ca } : undefined,
    events: hubEvents(node, contracts),
  };
}

/**
 * The same for a server that reaches the hub through the relay. The second URL is not reachable: it is there because nats-server takes
 * the name for TLS verification from its list of URLs.
 */
export function relayedHubLink(port: number, ...[node, hub, contracts]: Parameters<typeof hubLink>): HubLink {
  const link = hubLink(node, hub, contracts);
  const relay = hubUrl({ ...hub.server, host: '127.0.0.1', port }, hub.user, hub.password);
  return { ...link, urls: hub.server.tls ? [relay, ...link.urls] : [relay] };
}

/**
 * Checks whether a private node can verify the hub's certificate through its relay.
 *
 * @throws LauncherError `HubHasNoName` for a `tls://` URL with an IP address instead of a name.
 */
export function checkRelayed({ server }: Hub): void {
  if (!server.tls || isIP(server.host) === 0) return;
  throw new LauncherError(
    'HubHasNoName',
    `The hub tls://${server.host} is given by its IP address: a private node verifies the name in the hub's certificate, use tls://NAME:PORT`,
  );
}

function hubUrl({ host, port, tls }: TlsServer, user: string, password: string): string {
  const place = `${isIP(host) === 6 ? `[${host}]` : host}:${port}`;
  return `${tls ? 'tls' : 'nats-leaf'}://${encodeURIComponent(user)}:${encodeURIComponent(password)}@${place}`;
}

/** Starts the relay that lets the node's NATS server reach the hub. */
export function startHubRelay(
  dir: NodeDir,
  program: string,
  port: number,
  server: ServerAddress,
): Promise<StartedProcess> {
  return startRelay({ dir, what: hubRelay, program, listen: String(port), server });
}
