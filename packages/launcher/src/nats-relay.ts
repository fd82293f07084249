import { LauncherError } from './errors.ts';
import { NATS_PORT } from './nats-server.ts';
import type { NodeDir } from './node-dir.ts';
import { type ServerAddress, hostOf, startRelay } from './port-relay.ts';
import type { StartedProcess } from './start-process.ts';

/** The name under which the process is recorded. */
export const natsRelay = 'nats-relay';

/**
 * The address in `nats://host:port`; the port may be left out.
 *
 * @throws LauncherError `BadNatsUrl` that says what a URL must be.
 */
export function parseNatsUrl(text: string, { tls = false } = {}): ServerAddress {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url?.protocol === 'tls:' && !tls) {
    const hint = 'a node speaks TLS to no NATS server yet: use nats://, over loopback or a tunnel of your own';
    throw new LauncherError('BadNatsUrl', `${text}: ${hint}`);
  }
  const { hostname = '', port = '', protocol } = url ?? {};
  if ((protocol !== 'nats:' && protocol !== 'tls:') || hostname === '' || url?.port === '0') {
    throw new LauncherError('BadNatsUrl', `"${text}" is no address of a NATS server: use nats://HOST:PORT`);
  }
  if (url?.username !== '' || url.password !== '') {
    // Not repeated in the message: it may hold a password.
    throw new LauncherError(
      'BadNatsUrl',
      'The NATS URL names a user: a node has identities of its own, use nats://HOST:PORT',
    );
  }
  return { host: hostOf(url), port: port === '' ? NATS_PORT : Number(port) };
}

/** True for an address that nobody but this machine reaches. */
export function isLoopback({ host }: ServerAddress): boolean {
  return host === 'localhost' || host === '::1' || /^127(\.\d+){3}$/.test(host);
}

/** Starts the relay that lets the node's services reach a NATS server on the address of the node's own one. */
export function startNatsRelay(dir: NodeDir, program: string, server: ServerAddress): Promise<StartedProcess> {
  return startRelay({ dir, what: natsRelay, program, port: NATS_PORT, server });
}
