import type { NatsConnection } from '@nats-io/nats-core';
import { connect } from '@nats-io/transport-node';
import { isIP } from 'node:net';
import { checkServerIdentity, type PeerCertificate } from 'node:tls';
import { inboxPrefix } from './names.ts';
import { seedAuthenticator } from './nkey.ts';
import { writeOncePerTurn } from './one-write.ts';

/** Delay before a reconnect in milliseconds, plus a random delay of up to the same length, so that a node's services do not all reconnect at once. */
const RECONNECT_MS = 50;
const PING_MS = 20_000;
const CONNECT_MS = 3_000;

/** How the server's certificate is verified. */
export interface NatsTls {
  /** File with the trusted CA certificates, PEM. Default: those of Node.js. */
  readonly ca?: string | undefined;
  /** The name in the server's certificate, if the server is reached under another name. */
  readonly serverName?: string | undefined;
}

/**
 * Connects to NATS and stays connected permanently, even when the server has not started yet, or is down for hours.
 *
 * @param seed the identity's nkey seed (`SU...`); never logged.
 * @param tls how the server of a `tls://` URL is verified
 *
 * Rejects with a KubusError `bad-seed` when the seed is damaged.
 */
export async function connectNats(options: {
  /** `nats://HOST:PORT`, or `tls://`. */
  servers: string;
  tls?: NatsTls | undefined;
  instance: string;
  seed: string;
  /** Rejects when the server does not answer the first attempt, instead of waiting for it. */
  once?: boolean;
}): Promise<NatsConnection> {
  const connection = await connect({
    servers: options.servers,
    ...tlsOptions(options.servers, options.tls),
    name: options.instance,
    authenticator: seedAuthenticator(options.seed),
    inboxPrefix: inboxPrefix(options.instance),
    maxReconnectAttempts: -1,
    waitOnFirstConnect: options.once !== true,
    timeout: CONNECT_MS,
    reconnectTimeWait: RECONNECT_MS,
    reconnectJitter: RECONNECT_MS,
    pingInterval: PING_MS,
    maxPingOut: 2,
    ignoreAuthErrorAbort: true,
    // Otherwise each request creates an Error in advance, for its stack: half of the cost of storing a fact.
    noAsyncTraces: true,
  });
  writeOncePerTurn(connection);
  return connection;
}

/** A `tls://` URL is only used with TLS. Without a CA file, Node.js's CA certificates are trusted, including NODE_EXTRA_CA_CERTS. */
function tlsOptions(servers: string, { ca, serverName }: NatsTls = {}): { tls?: object } {
  if (!servers.startsWith('tls://')) return {};
  // Node.js would verify a server that is reached by its address as `localhost`.
  const name = serverName ?? new URL(servers).hostname.replace(/^\[(.*)\]$/, '$1');
  return {
    tls: {
      ...(ca !== undefined && { caFile: ca }),
      checkServerIdentity: (_host: string, certificate: PeerCertificate) => checkServerIdentity(name, certificate),
      // A client must not send an address as the server name (RFC 6066, section 3).
      ...(isIP(name) === 0 && { servername: name }),
    },
  };
}
