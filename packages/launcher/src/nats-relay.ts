import { toError } from '@kubus/ports';
import { LauncherError } from './errors.ts';
import type { NatsTls } from '@kubus/bus-nats';
import { copyFile } from 'node:fs/promises';
import { join } from 'node:path';
import { NATS_PORT, ownNatsUrl } from './nats-server.ts';
import type { NodeDir } from './node-dir.ts';
import type { NodeSettings } from './node-settings.ts';
import { type ServerAddress, startRelay } from './port-relay.ts';
import { type TlsServer, parseServerUrl } from './server-url.ts';
import type { StartedProcess } from './start-process.ts';

/** The name under which the process is recorded. */
export const natsRelay = 'nats-relay';

/**
 * The address in `nats://host:port` or `tls://host:port`; the port may be left out.
 *
 * @throws LauncherError `BadNatsUrl` that says what a URL must be.
 */
export function parseNatsUrl(text: string): TlsServer {
  return parseServerUrl(text, {
    name: 'NATS server',
    scheme: 'nats',
    port: NATS_PORT,
    code: 'BadNatsUrl',
    noUser: 'a node has identities of its own, use nats://HOST:PORT',
  });
}

/** How the services of a private node, and those who look into it, reach its NATS server. */
export interface NatsAccess {
  readonly url: string;
  readonly tls?: NatsTls;
}

/** A server outside is reached through the relay, and known by its own name. */
export function natsAccess(
  dir: Pick<NodeDir, 'config'>,
  settings: Pick<NodeSettings, 'nats' | 'natsCa'> | undefined,
): NatsAccess {
  if (settings?.nats === undefined) return { url: ownNatsUrl };
  const server = parseNatsUrl(settings.nats);
  if (!server.tls) return { url: ownNatsUrl };
  return {
    url: ownNatsUrl.replace('nats:', 'tls:'),
    tls: { serverName: server.host, ca: natsCaOf(dir, settings) },
  };
}

/** Keeps the authorities that the node trusts with its own files: others may change theirs. */
export async function keepNatsCa(dir: Pick<NodeDir, 'config'>, file: string): Promise<void> {
  await copyFile(file, caFile(dir)).catch((cause: unknown) => {
    throw new LauncherError('BadNatsCa', `--nats-ca ${file} can not be read: ${toError(cause).message}`, { cause });
  });
}

/** The authorities that the node trusts, if they are others than the system's. */
export function natsCaOf(dir: Pick<NodeDir, 'config'>, { natsCa }: Pick<NodeSettings, 'natsCa'>): string | undefined {
  return natsCa ? caFile(dir) : undefined;
}

function caFile(dir: Pick<NodeDir, 'config'>): string {
  return join(dir.config, 'nats-ca.pem');
}

/** Starts the relay that lets the node's services reach a NATS server on the address of the node's own one. */
export function startNatsRelay(dir: NodeDir, program: string, server: ServerAddress): Promise<StartedProcess> {
  return startRelay({ dir, what: natsRelay, program, port: NATS_PORT, server });
}
