import { X509Certificate } from 'node:crypto';
import { copyFile, readFile, stat, writeFile } from 'node:fs/promises';
import { isIP } from 'node:net';
import { join } from 'node:path';
import { type HubLink, hubEvents } from '@kubus/bus-nats';
import { type ServiceContract, type ServiceName, serviceContracts } from '@kubus/contracts';
import { toError } from '@kubus/ports';
import { LauncherError } from './errors.ts';
import type { NodeDir } from './node-dir.ts';
import { type ServerAddress, startRelay } from './port-relay.ts';
import { type TlsServer, isLoopback, parseServerUrl } from './server-url.ts';
import type { StartedProcess } from './start-process.ts';

/** The name under which the process is recorded. */
export const hubRelay = 'hub-relay';

/** Where a hub listens for nodes, and where a private node finds the relay to it. */
const HUB_PORT = 7422;

/** The hub of a node, as people name it: a NATS server that the events of many nodes come to. */
export interface HubChoice {
  /** `nats-leaf://HOST:PORT` or `tls://HOST:PORT`. */
  readonly url: string;
  /** File of the authorities that a `tls://` hub is known by; left out: those of the system. */
  readonly ca?: string | undefined;
  /** File with `USER:PASSWORD`. */
  readonly credentials: string | undefined;
}

/** A hub, with what the node's server needs to sign in. */
export interface Hub {
  readonly server: TlsServer;
  readonly ca?: string | undefined;
  readonly user: string;
  /** Secret. */
  readonly password: string;
}

/**
 * Reads what was chosen.
 *
 * @throws LauncherError `BadHubUrl`, `HubNoTls`, `BadHubCa`, `BadHubCredentials`.
 */
export async function readHub({ url, ca, credentials }: HubChoice): Promise<Hub> {
  const server = parseServerUrl(url, {
    name: 'hub',
    scheme: 'nats-leaf',
    port: HUB_PORT,
    code: 'BadHubUrl',
    noUser: 'USER:PASSWORD belongs into the file of --hub-credentials',
  });
  if (!server.tls && !isLoopback(server)) {
    throw new LauncherError('HubNoTls', `The hub ${url} is not on this machine: use tls://, the password passes there`);
  }
  if (ca !== undefined) {
    if (!server.tls) throw new LauncherError('BadHubCa', `--hub-ca is for a tls:// hub, not for ${url}`);
    await checkAuthorities(ca);
  }
  if (credentials === undefined) {
    throw new LauncherError('BadHubCredentials', `--hub ${url} needs --hub-credentials FILE, with USER:PASSWORD`);
  }
  return { server, ca, ...(await readCredentials(credentials)) };
}

/** A file that the server can not read would keep the whole node from starting. */
async function checkAuthorities(file: string): Promise<void> {
  try {
    new X509Certificate(await readFile(file));
  } catch (error) {
    throw new LauncherError('BadHubCa', `--hub-ca ${file} is no file of certificates: ${toError(error).message}`, {
      cause: error,
    });
  }
}

async function readCredentials(file: string): Promise<Pick<Hub, 'user' | 'password'>> {
  const bad = (what: string, cause?: unknown) =>
    new LauncherError('BadHubCredentials', `--hub-credentials ${file} ${what}`, { cause });
  const unreadable = (error: unknown) => bad(`can not be read: ${toError(error).message}`, error);
  const { mode } = await stat(file).catch((error: unknown) => Promise.reject(unreadable(error)));
  if ((mode & 0o077) !== 0) throw bad(`can be read by others (mode ${(mode & 0o777).toString(8)}): use chmod 600`);
  const text = await readFile(file, 'utf8').catch((error: unknown) => Promise.reject(unreadable(error)));
  // What it holds is not repeated.
  const [, user, password] = /^([^:\s]+):(\S+)\s*$/.exec(text) ?? [];
  if (user === undefined || password === undefined) throw bad('does not hold USER:PASSWORD in one line');
  return { user, password };
}

/** Keeps what a private node needs to find its hub again: others may change their files. */
export async function keepHub(dir: Pick<NodeDir, 'config'>, { ca, user, password }: Hub): Promise<void> {
  await writeFile(credentialsFile(dir), `${user}:${password}\n`, { mode: 0o600 });
  if (ca !== undefined) await copyFile(ca, authoritiesFile(dir));
}

/** The hub of a private node, if it has one. */
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

/** What a server is told that takes the events of its node to a hub. */
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
 * The same for a server that reaches the hub by the relay. The second URL leads nowhere there: a server that speaks TLS
 * to an address of its list asks for the name that the list has.
 */
export function relayedHubLink(...[node, hub, contracts]: Parameters<typeof hubLink>): HubLink {
  const link = hubLink(node, hub, contracts);
  const relay = hubUrl({ ...hub.server, host: '127.0.0.1', port: HUB_PORT }, hub.user, hub.password);
  return { ...link, urls: hub.server.tls ? [relay, ...link.urls] : [relay] };
}

/**
 * Whether a private node can know the hub through its relay.
 *
 * @throws LauncherError `HubHasNoName` for one that is spoken to by TLS under its address.
 */
export function checkRelayed({ server }: Hub): void {
  if (!server.tls || isIP(server.host) === 0) return;
  throw new LauncherError(
    'HubHasNoName',
    `The hub tls://${server.host} is named by its address: a private node knows a hub by the name in its certificate, use tls://NAME:PORT`,
  );
}

function hubUrl({ host, port, tls }: TlsServer, user: string, password: string): string {
  const place = `${isIP(host) === 6 ? `[${host}]` : host}:${port}`;
  return `${tls ? 'tls' : 'nats-leaf'}://${encodeURIComponent(user)}:${encodeURIComponent(password)}@${place}`;
}

/** Starts the relay that lets the node's NATS server reach the hub. */
export function startHubRelay(dir: NodeDir, program: string, server: ServerAddress): Promise<StartedProcess> {
  return startRelay({ dir, what: hubRelay, program, port: HUB_PORT, server });
}
