import { toError } from '@kubus/ports';
import { LauncherError } from '../errors.ts';
import type { NatsTls } from '@kubus/bus-nats';
import { copyFile } from 'node:fs/promises';
import { join } from 'node:path';
import { NATS_PORT, ownNatsUrl } from './nats-server.ts';
import type { NodeDir } from '../node/node-dir.ts';
import type { NodeSettings } from '../node/node-settings.ts';
import { type ServerAddress, startRelay } from '../network/port-relay.ts';
import { type TlsServer, parseServerUrl } from './server-url.ts';
import type { StartedProcess } from '../processes/start-process.ts';

/** The name under which the process is recorded. */
export const natsRelay = 'nats-relay';

/**
 * Parses `nats://host:port` or `tls://host:port`; the default port is 4222.
 *
 * @throws LauncherError `BadNatsUrl` that says which URLs are valid.
 */
export function parseNatsUrl(text: string): TlsServer {
  return parseServerUrl(text, {
    name: 'NATS server',
    scheme: 'nats',
    port: NATS_PORT,
    code: 'BadNatsUrl',
    noUser: 'a node signs in with its own keys, use nats://HOST:PORT',
  });
}

/** How the services of a private node and the command line reach its NATS server. */
export interface NatsAccess {
  readonly url: string;
  readonly tls?: NatsTls;
}

/** The access to the node's NATS server. An external one is reached through the relay; TLS verifies the server's own name. */
export function natsAccess(
  dir: Pick<NodeDir, 'config'>,
  settings: Pick<NodeSettings, 'nats' | 'natsCa' | 'ports'> | undefined,
): NatsAccess {
  const url = ownNatsUrl(settings?.ports.nats);
  if (settings?.nats === undefined) return { url };
  const server = parseNatsUrl(settings.nats);
  if (!server.tls) return { url };
  return {
    url: url.replace('nats:', 'tls:'),
    tls: { serverName: server.host, ca: natsCaOf(dir, settings) },
  };
}

/** Copies the CA certificates to the node's folder, so that a restarted launcher has them. */
export async function keepNatsCa(dir: Pick<NodeDir, 'config'>, file: string): Promise<void> {
  await copyFile(file, caFile(dir)).catch((cause: unknown) => {
    throw new LauncherError('BadNatsCa', `cannot read --nats-ca ${file}: ${toError(cause).message}`, { cause });
  });
}

/** The file with the node's CA certificates; undefined: the system's are used. */
export function natsCaOf(dir: Pick<NodeDir, 'config'>, { natsCa }: Pick<NodeSettings, 'natsCa'>): string | undefined {
  return natsCa ? caFile(dir) : undefined;
}

function caFile(dir: Pick<NodeDir, 'config'>): string {
  return join(dir.config, 'nats-ca.pem');
}

/** Starts the relay through which the node's services reach an external NATS server, on the port of the node's own server. */
export function startNatsRelay(
  dir: NodeDir,
  program: string,
  port: number,
  server: ServerAddress,
): Promise<StartedProcess> {
  return startRelay({ dir, what: natsRelay, program, listen: String(port), server });
}
