// The one place that makes HTTP servers: lint refuses `createServer` of node:http and node:https elsewhere.
// oxlint-disable-next-line no-restricted-imports -- see above
import { type RequestListener, type Server, createServer } from 'node:http';
// oxlint-disable-next-line no-restricted-imports -- see above
import { type Server as SecureServer, createServer as createSecureServer } from 'node:https';
import type { TlsOptions } from 'node:tls';

/**
 * What one client may cost before its request is answered (rule:bounds). Times are in milliseconds: how long a connection may be
 * idle, and how long the header and all of a request may take to arrive; streams do not count. `maxHeaderSize` bounds the
 * request line and the header together, in bytes.
 */
export interface HttpLimits {
  readonly keepAliveTimeout: number;
  readonly headersTimeout: number;
  readonly requestTimeout: number;
  readonly maxHeaderSize: number;
  /** How often the times are checked; Node.js' default is 30 seconds. */
  readonly connectionsCheckingInterval?: number;
}

export const httpLimits: HttpLimits = {
  keepAliveTimeout: 90_000,
  headersTimeout: 30_000,
  requestTimeout: 60_000,
  maxHeaderSize: 16 * 1024,
};

/** Where the body of a request may be a whole recording. */
export const uploadLimits: HttpLimits = { ...httpLimits, requestTimeout: 300_000 };

/** An HTTP server with {@link httpLimits}, or with others. */
export function httpServer(answer?: RequestListener, limits: HttpLimits = httpLimits): Server {
  return createServer(limits, answer);
}

/** As {@link httpServer}, with TLS. */
export function httpsServer(tls: TlsOptions, limits: HttpLimits = httpLimits): SecureServer {
  return createSecureServer({ handshakeTimeout: limits.headersTimeout, ...limits, ...tls });
}

/** Whether a request has a body. A server that reads none ends the connection with its answer, so that none arrives. */
export function hasBody({ headers }: { readonly headers: NodeJS.Dict<string | string[]> }): boolean {
  return headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0;
}
