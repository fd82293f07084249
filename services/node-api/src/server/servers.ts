import { type Clock, KubusError, type Logger, toError } from '@kubus/ports';
import { type HttpLimits, httpLimits, httpServer, httpsServer } from '@kubus/service-kit';
import type { FastifyInstance } from 'fastify';
import { once } from 'node:events';
import type { Server } from 'node:http';
import type { Server as SecureServer } from 'node:https';
import { type AddressInfo, Socket } from 'node:net';
import { type SecureContextOptions, createSecureContext } from 'node:tls';
import { FollowedFiles } from '../tls/followed-files.ts';
import { serveOneByOne } from './one-by-one.ts';
import type { PairFiles, ServingPair } from '../tls/serving-pair.ts';
import type { TlsSettings } from '../tls/tls-settings.ts';

/** A server that listens. */
export interface Listening {
  readonly port: number;
  /** Ends every connection. */
  close(): Promise<void>;
}

export interface Place {
  readonly address: string;
  readonly port: number;
}

/** The words of a command of `kubectl exec` are in the URL, and the kernel refuses a word of more than 128 KiB. */
export const streamLimits: HttpLimits = { ...httpLimits, maxHeaderSize: 256 * 1024 };

/** Serves without TLS and without authentication. */
export async function listenPlain(app: FastifyInstance, place: Place): Promise<Listening> {
  const server = httpServer();
  serveOneByOne(server, (request, response) => app.routing(request, response));
  return listen(server, app, place, () => Promise.resolve());
}

export interface SecureOptions {
  readonly settings: TlsSettings;
  /** Omitted: {@link SecureListening.show} sets them. */
  readonly pair: PairFiles | undefined;
  /** CA certificates for client certificates; omitted: no client certificate is requested. */
  readonly clientCaFile: string | undefined;
  readonly clock: Clock;
  readonly logger: Logger;
}

export interface SecureListening extends Listening {
  /** The server uses this certificate from now on; until it has one, connections fail. Throws when it is not valid. */
  show(pair: ServingPair): void;
}

/**
 * Serves with TLS. The files of certificate, key and client CAs are watched; new CAs end the
 * connections that were accepted with the old ones.
 */
export async function listenSecure(
  app: FastifyInstance,
  place: Place,
  options: SecureOptions,
): Promise<SecureListening> {
  const { settings, pair: pairFiles, clientCaFile, clock, logger } = options;
  let pair: ServingPair | undefined;
  let authorities: string | undefined;
  /** The CAs with which the client of each connection was verified. */
  const judgedBy = new Map<string, string | undefined>();
  const server: SecureServer = httpsServer(
    // The client's certificate is verified with the request, not with the connection.
    { requestCert: clientCaFile !== undefined, rejectUnauthorized: false },
    streamLimits,
  );
  serveOneByOne(server, (request, response) => {
    // A connection from before the CAs changed; the client opens another one.
    if (judgedBy.get(nameOf(request.socket)) !== authorities) request.socket.destroy();
    else app.routing(request, response);
  });
  const apply = (next: { pair: ServingPair | undefined; authorities: string | undefined }) => {
    const context: SecureContextOptions = {
      minVersion: settings.minVersion,
      ciphers: settings.ciphers,
      ...(next.pair !== undefined && { cert: next.pair.certificate, key: next.pair.key }),
      ...(next.authorities !== undefined && { ca: next.authorities, allowPartialTrustChain: true }),
    };
    // Throws when certificate and key do not match; setSecureContext would leave the server without any.
    createSecureContext(context);
    server.setSecureContext(context);
    ({ pair, authorities } = next);
  };
  const follow = async (paths: readonly string[], changed: (texts: readonly string[]) => void) => {
    const opened = await FollowedFiles.open(paths, {
      clock,
      logger,
      changed: (texts) => {
        changed(texts);
        logger.info({ paths }, 'certificates reloaded');
      },
    });
    files.push(opened);
    changed(opened.texts);
  };
  const files: FollowedFiles[] = [];
  try {
    if (clientCaFile !== undefined) {
      await follow([clientCaFile], ([text = '']) => apply({ pair, authorities: checked(clientCaFile, text) }));
    }
    if (pairFiles === undefined) apply({ pair, authorities });
    else {
      const { certFile, keyFile } = pairFiles;
      await follow([certFile, keyFile], ([text = '', key = '']) =>
        apply({
          pair: { certificate: checked(certFile, text), key: checked(keyFile, key, 'PRIVATE KEY') },
          authorities,
        }),
      );
    }
    server.on('connection', (socket) => {
      if (!(socket instanceof Socket)) return;
      const name = nameOf(socket);
      judgedBy.set(name, authorities);
      socket.once('close', () => judgedBy.delete(name));
    });
    server.on('tlsClientError', (error) => logger.debug({ err: toError(error) }, 'TLS handshake failed'));
    const listening = await listen(server, app, place, async () => {
      await Promise.all(files.map((one) => one.close()));
    });
    return { ...listening, show: (shown) => apply({ pair: shown, authorities }) };
  } catch (error) {
    await Promise.all(files.map((one) => one.close()));
    throw error;
  }
}

/**
 * The text of a file when it contains such a PEM block. Node.js treats an empty text as omitted: it would work without a key,
 * or trust the public CAs.
 */
function checked(file: string, text: string, kind: 'CERTIFICATE' | 'PRIVATE KEY' = 'CERTIFICATE'): string {
  if (text.includes(`${kind}-----`)) return text;
  throw new KubusError('no-certificate', `${file}: contains no ${kind.toLowerCase()}`);
}

/** The same name for a connection and for the TLS socket on it, while it is open. */
function nameOf({ remoteAddress = '', remotePort = 0 }: Socket): string {
  return `${remoteAddress} ${remotePort}`;
}

async function listen(
  server: Server | SecureServer,
  app: FastifyInstance,
  { address, port }: Place,
  closed: () => Promise<void>,
): Promise<Listening> {
  server.listen(port, address);
  await once(server, 'listening');
  return {
    port: (server.address() as AddressInfo).port,
    close: async () => {
      const ended = once(server, 'close');
      server.close();
      server.closeAllConnections();
      await ended;
      await closed();
      await app.close();
    },
  };
}
