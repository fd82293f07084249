import { nkeyAuthenticator, type NatsConnection } from '@nats-io/nats-core';
import { connect } from '@nats-io/transport-node';
import { inboxPrefix } from './names.ts';

/** Reconnects wait this long, plus as much again at random, so that a node's services do not come back all at once. */
const RECONNECT_MS = 50;
const PING_MS = 20_000;
const CONNECT_MS = 3_000;

/**
 * Connects to NATS and stays connected for ever: also when the server is not there yet, or goes away for hours.
 *
 * @param seed the identity's nkey seed (`SU...`); never logged.
 */
export function connectNats(options: {
  /** `nats://HOST:PORT`, or `tls://`. */
  servers: string;
  instance: string;
  seed: string;
  /** Rejects when the server does not answer the first time, instead of waiting for it. */
  once?: boolean;
}): Promise<NatsConnection> {
  return connect({
    servers: options.servers,
    ...tlsOf(options.servers),
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

/** Whoever asks for TLS gets it or no connection. Authorities are those of Node, NODE_EXTRA_CA_CERTS included. */
function tlsOf(servers: string): { tls?: { handshakeFirst: boolean } } {
  if (!servers.startsWith('tls:')) return {};
  // By itself the client has Node compare names alone, and `localhost` where the server is an address.
  const tls = { handshakeFirst: false, host: new URL(servers).hostname.replace(/^\[|\]$/g, '') };
  return { tls };
}
