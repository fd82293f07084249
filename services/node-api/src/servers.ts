import { type Clock, KubusError, type Logger, toError } from '@kubus/ports';
import type { FastifyInstance } from 'fastify';
import { once } from 'node:events';
import { type IncomingMessage, type Server, type ServerResponse, createServer } from 'node:http';
import { type Server as SecureServer, createServer as createSecureServer } from 'node:https';
import { type AddressInfo, Socket } from 'node:net';
import { type SecureContextOptions, createSecureContext } from 'node:tls';
import { FollowedFiles } from './followed-files.ts';
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
const limits = { keepAliveTimeout: 90_000, requestTimeout: 4 * 60 * 60 * 1000, maxHeaderSize: 1024 * 1024 };

/** Serves without TLS and without asking who somebody is. */
export async function listenPlain(app: FastifyInstance, place: Place): Promise<Listening> {
  const server = createServer(limits, (request, response) => app.routing(request, response));
  return listen(server, app, place, () => Promise.resolve());
}

export interface SecureOptions {
  readonly settings: TlsSettings;
  readonly pair: PairFiles;
  /** Certificates of the authorities that vouch for clients; left out, none is asked for. */
  readonly clientCaFile: string | undefined;
  readonly clock: Clock;
  readonly logger: Logger;
}

/**
 * Serves with TLS. Certificate, key and client authorities are followed in their files; with new authorities nobody stays
 * who was let in by the old ones.
 */
export async function listenSecure(app: FastifyInstance, place: Place, options: SecureOptions): Promise<Listening> {
  const { settings, pair, clientCaFile, clock, logger } = options;
  const paths = [pair.certFile, pair.keyFile, ...(clientCaFile === undefined ? [] : [clientCaFile])];
  const context = ([cert = '', key = '', ca]: readonly string[]): SecureContextOptions => ({
    ...{ cert: checked(pair.certFile, cert), key, minVersion: settings.minVersion },
    ...(settings.ciphers !== undefined && { ciphers: settings.ciphers }),
    ...(ca !== undefined && { ca: checked(clientCaFile ?? '', ca), allowPartialTrustChain: true }),
  });
  let authorities: string | undefined;
  /** By which authorities the client of each connection was judged. */
  const judgedBy = new Map<string, string | undefined>();
  const serve = (request: IncomingMessage, response: ServerResponse) => {
    // A connection from before the authorities changed; the client makes another one.
    if (judgedBy.get(nameOf(request.socket)) !== authorities) request.socket.destroy();
    else app.routing(request, response);
  };
  const files = await FollowedFiles.open(paths, {
    clock,
    logger,
    changed: (texts) => {
      const changed = context(texts);
      // Throws where certificate and key do not belong together; setSecureContext would leave the server without any.
      createSecureContext(changed);
      server.setSecureContext(changed);
      authorities = texts[2];
      logger.info({ paths }, 'certificates were read again');
    },
  });
  authorities = files.texts[2];
  const server: SecureServer = createSecureServer(
    // The certificate of a client is judged with the request, not with the connection.
    { ...limits, ...context(files.texts), requestCert: clientCaFile !== undefined, rejectUnauthorized: false },
    serve,
  );
  server.on('connection', (socket) => {
    if (!(socket instanceof Socket)) return;
    const name = nameOf(socket);
    judgedBy.set(name, authorities);
    socket.once('close', () => judgedBy.delete(name));
  });
  server.on('tlsClientError', (error) => logger.debug({ err: toError(error) }, 'a connection was not made'));
  return listen(server, app, place, () => files.close());
}

/**
 * The text of certificates. Throws where there is none: Node takes an empty text for none given, and then trusts the
 * authorities of the web.
 */
function checked(file: string, text: string): string {
  if (/-----BEGIN CERTIFICATE-----/.test(text)) return text;
  throw new KubusError('no-certificate', `${file}: there is no certificate in it`);
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
