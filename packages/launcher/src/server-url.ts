import { LauncherError } from './errors.ts';
import { type ServerAddress, hostOf } from './port-relay.ts';

/** Where a server is, and whether it is spoken to by TLS alone. */
export interface TlsServer extends ServerAddress {
  readonly tls: boolean;
}

/** A kind of server that people name by URL. */
export interface ServerKind {
  /** As in `address of a NATS server`. */
  readonly name: string;
  /** Of a URL without TLS; that of one with it is `tls`. */
  readonly scheme: string;
  readonly port: number;
  /** Of the error. */
  readonly code: string;
  /** Why the URL has no user. */
  readonly noUser: string;
}

/**
 * The address in a URL; the port may be left out.
 *
 * @throws LauncherError that says what a URL must be.
 */
export function parseServerUrl(text: string, kind: ServerKind): TlsServer {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url !== undefined && url.username + url.password !== '') {
    // Not repeated in the message: it may hold a password.
    throw new LauncherError(kind.code, `The URL of the ${kind.name} names a user: ${kind.noUser}`);
  }
  const isKnown = url?.protocol === `${kind.scheme}:` || url?.protocol === 'tls:';
  if (!isKnown || url.hostname === '' || url.port === '0') {
    const hint = `use ${kind.scheme}://HOST:PORT or tls://HOST:PORT`;
    throw new LauncherError(kind.code, `"${text}" is no address of a ${kind.name}: ${hint}`);
  }
  return { host: hostOf(url), port: url.port === '' ? kind.port : Number(url.port), tls: url.protocol === 'tls:' };
}

/** True for an address that nobody but this machine reaches. */
export function isLoopback({ host }: ServerAddress): boolean {
  return host === 'localhost' || host === '::1' || /^127(\.\d+){3}$/.test(host);
}
