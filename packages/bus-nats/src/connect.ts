import { nkeyAuthenticator, type NatsConnection } from '@nats-io/nats-core';
import { connect } from '@nats-io/transport-node';
import { isIP } from 'node:net';
import { checkServerIdentity, type PeerCertificate } from 'node:tls';
import { inboxPrefix } from './names.ts';

/** Reconnects wait this long, plus as much again at random, so that a node's services do not come back all at once. */
const RECONNECT_MS = 50;
const PING_MS = 20_000;
const CONNECT_MS = 3_000;

/** How a NATS server shows that it is the right one. */
export interface NatsTls {
  /** File with the certificates of the authorities that are trusted, PEM. Left out: those of the system. */
  readonly ca?: string | undefined;
  /** The name in the server's certificate, where it is reached under another one. */
  readonly serverName?: string | undefined;
}

/**
 * Connects to NATS and stays connected for ever: also when the server is not there yet, or goes away for hours.
 *
 * @param seed the identity's nkey seed (`SU...`); never logged.
 * @param tls how the server of a `tls://` URL is known
 */
export function connectNats(options: {
  /** `nats://HOST:PORT`, or `tls://`. */
  servers: string;
  tls?: NatsTls | undefined;
  instance: string;
  seed: string;
  /** Rejects when the server does not answer the first time, instead of waiting for it. */
  once?: boolean;
}): Promise<NatsConnection> {
  return connect({
    servers: options.servers,
    ...tlsOptions(options.servers, options.tls),
    name: options.instance,
    authenticator: nkeyAuthenticator(new TextEncoder().encode(options.seed)),
    inboxPrefix: inboxPrefix(options.instance),
    maxReconnectAttempts: -1,
    waitOnFirstConnect: options.once !== true,
    timeout: CONNECT_MS,
    reconnectTimeWait: RECONNECT_MS,
    reconnectJitter: RECONNECT_MS,
    pingInterval: PING_MS,
    maxPingOut: 2,
    ignoreAuthErrorAbort: true,
    // Otherwise each request makes an Error beforehand, for its stack: half of the cost of storing a fact.
    noAsyncTraces: true,
  });
}

/** Whoever asks for TLS gets it or no connection. Authorities are those of Node, NODE_EXTRA_CA_CERTS included, where no file is named. */
function tlsOptions(servers: string, { ca, serverName }: NatsTls = {}): { tls?: object } {
  if (!servers.startsWith('tls://')) return {};
  // Node would take a server that is reached by its address for `localhost`.
  const name = serverName ?? new URL(servers).hostname.replace(/^\[(.*)\]$/, '$1');
  return {
    tls: {
      ...(ca !== undefined && { caFile: ca }),
      checkServerIdentity: (_host: string, certificate: PeerCertificate) => checkServerIdentity(name, certificate),
      // An address is no name that a client may ask for (RFC 6066, section 3).
      ...(isIP(name) === 0 && { servername: name }),
    },
  };
}
