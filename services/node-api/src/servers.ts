import { type Clock, KubusError, type Logger, toError } from '@kubus/ports';
import type { FastifyInstance } from 'fastify';
import { once } from 'node:events';
import { type Server, createServer } from 'node:http';
import { type Server as SecureServer, createServer as createSecureServer } from 'node:https';
import { type AddressInfo, Socket } from 'node:net';
import { type SecureContextOptions, createSecureContext } from 'node:tls';
import { FollowedFiles } from './followed-files.ts';
import { serveOneByOne } from './one-by-one.ts';
import type { PairFiles } from './pair-files.ts';
import type { TlsSettings } from './tls-settings.ts';

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

/** Of the reference: a connection may rest for so long between requests, and one request may take so long; milliseconds. */
export const limits = { keepAliveTimeout: 90_000, requestTimeout: 4 * 60 * 60 * 1000, maxHeaderSize: 1024 * 1024 };

/** Serves without TLS and without asking who somebody is. */
export async function listenPlain(app: FastifyInstance, place: Place): Promise<Listening> {
  const server = createServer(limits);
  serveOneByOne(server, (request, response) => app.routing(request, response));
  return listen(server, app, place, () => Promise.resolve());
}

/** A certificate, with those of its issuers after it, and its key; both PEM. */
export interface ServingPair {
  readonly certificate: string;
  readonly key: string;
}

export interface SecureOptions {
  readonly settings: TlsSettings;
  /** Left out: {@link SecureListening.show} brings them. */
  readonly pair: PairFiles | undefined;
  /** Certificates of the authorities that vouch for clients; left out, none is asked for. */
  readonly clientCaFile: string | undefined;
  readonly clock: Clock;
  readonly logger: Logger;
}

export interface SecureListening extends Listening {
  /** From now on the server shows this certificate; until it has one, no connection is made. Throws when it is of no use. */
  show(pair: ServingPair): void;
}

/**
 * Serves with TLS. Certificate, key and client authorities are followed in their files; with new authorities nobody stays
 * who was let in by the old ones.
 */
export async function listenSecure(
  app: FastifyInstance,
  place: Place,
  options: SecureOptions,
): Promise<SecureListening> {
  const { settings, pair: pairFiles, clientCaFile, clock, logger } = options;
  let pair: ServingPair | undefined;
  let authorities: string | undefined;
  /** By which authorities the client of each connection was judged. */
  const judgedBy = new Map<string, string | undefined>();
  const server: SecureServer = createSecureServer(
    // The certificate of a client is judged with the request, not with the connection.
    { ...limits, requestCert: clientCaFile !== undefined, rejectUnauthorized: false },
  );
  serveOneByOne(server, (request, response) => {
    // A connection from before the authorities changed; the client makes another one.
    if (judgedBy.get(nameOf(request.socket)) !== authorities) request.socket.destroy();
    else app.routing(request, response);
  });
  const apply = (next: { pair: ServingPair | undefined; authorities: string | undefined }) => {
    const context: SecureContextOptions = {
      minVersion: settings.minVersion,
      ...(settings.ciphers !== undefined && { ciphers: settings.ciphers }),
      ...(next.pair !== undefined && { cert: next.pair.certificate, key: next.pair.key }),
      ...(next.authorities !== undefined && { ca: next.authorities, allowPartialTrustChain: true }),
    };
    // Throws where certificate and key do not belong together; setSecureContext would leave the server without any.
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
        logger.info({ paths }, 'certificates were read again');
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
    server.on('tlsClientError', (error) => logger.debug({ err: toError(error) }, 'a connection was not made'));
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
 * The text of a file, when there is such a thing in it. Node takes an empty text for none given: it then does without a key,
 * or trusts the authorities of the web.
 */
function checked(file: string, text: string, kind: 'CERTIFICATE' | 'PRIVATE KEY' = 'CERTIFICATE'): string {
  if (text.includes(`${kind}-----`)) return text;
  throw new KubusError('no-certificate', `${file}: there is no ${kind.toLowerCase()} in it`);
}

/** The same for a connection and for what is secured on it, while it is open. */
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
