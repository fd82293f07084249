import { LauncherError } from '../errors.ts';
import { type ServerAddress, hostOf } from '../network/port-relay.ts';

/** The address of a server, and whether it uses TLS. */
export interface TlsServer extends ServerAddress {
  readonly tls: boolean;
}

/** A kind of server that the user names by URL. */
export interface ServerKind {
  /** For messages, such as `NATS server`. */
  readonly name: string;
  /** Scheme of a URL without TLS; with TLS it is `tls`. */
  readonly scheme: string;
  /** Default TCP port. */
  readonly port: number;
  /** Code of the error for an invalid URL. */
  readonly code: string;
  /** Where to put user and password instead, for messages. */
  readonly noUser: string;
}

/**
 * Parses the URL of a server; the port may be left out.
 *
 * @throws LauncherError that says which URLs are valid.
 */
export function parseServerUrl(text: string, kind: ServerKind): TlsServer {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url !== undefined && url.username + url.password !== '') {
    // Not repeated in the message: it may hold a password.
    throw new LauncherError(kind.code, `The URL of the ${kind.name} contains a user: ${kind.noUser}`);
  }
  const isKnown = url?.protocol === `${kind.scheme}:` || url?.protocol === 'tls:';
  if (!isKnown || url.hostname === '' || url.port === '0') {
    const hint = `use ${kind.scheme}://HOST:PORT or tls://HOST:PORT`;
    throw new LauncherError(kind.code, `"${text}" is not a valid URL of a ${kind.name}: ${hint}`);
  }
  return { host: hostOf(url), port: url.port === '' ? kind.port : Number(url.port), tls: url.protocol === 'tls:' };
}

/** True for an address that only this machine can reach. */
export function isLoopback({ host }: ServerAddress): boolean {
  return host === 'localhost' || host === '::1' || /^127(\.\d+){3}$/.test(host);
}
