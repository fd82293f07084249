import { once } from 'node:events';
import { type IncomingMessage, type Server, ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import {
  apiVersionOf,
  at,
  badRequest,
  failure,
  isPathAllowed,
  methodNotAllowed,
  noSuchPath,
  type Resource,
  StatusError,
  unauthorized,
} from '@kubus/kube-objects';
import { EXPOSITION_TYPE, exposition } from '@kubus/metrics';
import { toError } from '@kubus/ports';
import { type HttpLimits, httpLimits, httpServer, httpsServer } from '@kubus/service-kit';
import { type Answer, answerObjects } from './api.ts';
import type { Authority } from '@kubus/certificates';
import { type Authorizer, attributesOf, denied, deniedPath } from './authorization.ts';
import { defaultAccount } from './controllers/defaults.ts';
import { discover } from './discovery.ts';
import {
  type BodyEncoding,
  acceptedEncoding,
  encoded,
  encodingOf,
  EventEncoder,
  openApiEncoding,
  watchMediaType,
} from './encoding.ts';
import { healthText } from './health.ts';
import { type Identities, type User } from './identity.ts';
import type { Fault, Injection, Outcome } from './injection.ts';
import { actingUser } from './impersonation.ts';
import type { NodeUsages } from './node-usages.ts';
import { openApi } from './openapi.ts';
import { isPodLog } from './log-socket.ts';
import { type UpgradedConnection, isPodStream } from './pod-stream.ts';
import type { Registry } from './registry.ts';
import { type RequestInfo, requestInfo, servedBy } from './request-info.ts';
import { readBody } from './request-body.ts';
import { type Payload, typedObjectOf } from './request-object.ts';
import { RequestBounds } from './request-bounds.ts';
import { aggregatedDiscovery } from './aggregated-discovery.ts';
import { RequestMetrics } from './request-metrics.ts';
import { answerReview } from './reviews.ts';
import { type TokenIssuer, answerTokenRequest } from './service-account-token.ts';
import { StoreError } from './store-error.ts';
import { type TableRequest, asTable, tableRequest } from './table-request.ts';
import { answerUsage } from './usage-answers.ts';
import { Watch, type WatchEvent } from './watch.ts';

export interface ServerParts {
  readonly registry: Registry;
  readonly identities: Identities;
  readonly issuer: TokenIssuer;
  /** What nodes and their pods use. */
  readonly usages: NodeUsages;
  readonly authorize: Authorizer;
  /** Answers a request for a pod's log. */
  readonly log: (info: RequestInfo, response: ServerResponse) => Promise<void>;
  /** Answers a request for what a node serves itself. */
  readonly proxy: (info: RequestInfo, response: ServerResponse) => Promise<void>;
  /** Answers a request for a pod's log by a WebSocket. */
  readonly logSocket: (info: RequestInfo, connection: UpgradedConnection) => Promise<void>;
  /** Answers a request for a stream of a pod. */
  readonly stream: (info: RequestInfo, connection: UpgradedConnection) => Promise<void>;
  /** Left out: plain HTTP. */
  readonly tls?: { readonly authority: Authority; readonly certificate: string; readonly key: string };
  /** Only tests have one. */
  readonly injection?: Injection;
}

/** A request, as it is answered. */
interface Request {
  readonly info: RequestInfo;
  readonly payload: Payload;
  readonly table: TableRequest;
  readonly accept: string;
  readonly fault: Fault | undefined;
}

const TOKEN_REQUEST = { kind: 'TokenRequest', apiVersion: 'authentication.k8s.io/v1' };

const UNTIMED: HttpLimits = { ...httpLimits, requestTimeout: 0 };

/** How much of a watch its client may leave unread, in bytes. */
const UNREAD_BYTES = 16 * 1024 * 1024;

/** The HTTP server: authentication, bounds, injected faults, and routing. */
export class ApiHttpServer {
  readonly watches = new Set<Watch>();
  readonly metrics = new RequestMetrics();
  readonly #bounds = new RequestBounds();
  readonly #events = new EventEncoder();
  readonly #parts: ServerParts;
  /** One for each address. */
  readonly #servers = new Set<Server>();
  /** Also those on which TLS has not begun yet, of which the HTTP server knows nothing. */
  readonly #sockets = new Set<Socket>();

  constructor(parts: ServerParts) {
    this.#parts = parts;
  }

  #server(): Server {
    const { tls, injection } = this.#parts;
    const handle = (request: IncomingMessage, response: ServerResponse) => {
      this.#handle(request, response).catch((error: unknown) => {
        response.destroy(toError(error));
      });
    };
    // An injected silence may last as long as the test needs.
    const limits = injection === undefined ? httpLimits : UNTIMED;
    const server =
      tls === undefined
        ? httpServer(handle, limits)
        : httpsServer(
            {
              cert: tls.certificate,
              key: tls.key,
              ca: tls.authority.certificate,
              requestCert: true,
              // A client that has half-closed the connection keeps reading.
              ...{ allowHalfOpen: true },
              rejectUnauthorized: false,
            },
            limits,
          ).on('request', handle);
    server.on('upgrade', (request: IncomingMessage, socket: Duplex, head: Buffer) => {
      void this.#upgrade({ request, socket, head });
    });
    server.on('connection', (socket: Socket) => {
      this.#sockets.add(socket);
      socket.once('close', () => this.#sockets.delete(socket));
    });
    return server;
  }

  /** Listens there, too. @returns the port. */
  async listen(host: string, port: number): Promise<number> {
    const server = this.#server();
    server.listen(port, host);
    await once(server, 'listening');
    this.#servers.add(server);
    return (server.address() as AddressInfo).port;
  }

  /** Breaks every connection and stops listening. */
  async close(): Promise<void> {
    const closed = [...this.#servers].map((server) => once(server, 'close'));
    for (const server of this.#servers) server.close();
    this.#servers.clear();
    for (const socket of this.#sockets) socket.destroy();
    for (const watch of this.watches) watch.closed();
    this.watches.clear();
    await Promise.all(closed);
  }

  async #handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const at = Date.now();
    const began = performance.now();
    let fault: Fault | undefined;
    try {
      const info = requestInfo(request.method ?? 'GET', request.url ?? '/');
      const user = this.#parts.identities.userOf(request);
      const release = this.#bounds.enter(user?.username ?? '', info.verb === 'watch');
      response.once('close', release);
      whenClosed(response, began, ({ status = 0, durationMs }) => {
        this.metrics.done(info, servedBy(info).resource, status, durationMs / 1000);
      });
      // Nothing is read from a stranger.
      const body = user === undefined ? Buffer.alloc(0) : await readBody(request);
      const { injection } = this.#parts;
      if (injection !== undefined) {
        const attributed = { ...info, user: user?.username ?? '', groups: user?.groups ?? [] };
        const arrived = injection.arrived({ ...attributed, at, bodyBytes: body.length });
        whenClosed(response, began, arrived.done);
        fault = arrived.fault;
        if (fault !== undefined && (await strike(fault, response))) return;
      }
      const { accept = '', 'content-type': contentType = '', 'user-agent': userAgent = '' } = request.headers;
      const table = tableRequest(accept, info);
      const payload = { contentType, userAgent, bytes: body };
      const acting = user && actingUser(user, request, this.#parts.authorize);
      await this.#serve({ info, payload, table, accept, fault }, acting, response);
    } catch (error) {
      // What is left of the request is not read.
      if (!request.complete) response.shouldKeepAlive = false;
      send(response, errorAnswer(error), fault, acceptedEncoding(request.headers.accept ?? ''));
    }
  }

  async #upgrade(connection: UpgradedConnection): Promise<void> {
    const { request, socket } = connection;
    socket.on('error', () => socket.destroy());
    try {
      const info = requestInfo(request.method ?? 'GET', request.url ?? '/');
      const user = this.#parts.identities.userOf(request);
      if (user === undefined) throw unauthorized();
      const release = this.#bounds.enter(user.username, true);
      socket.once('close', release);
      const { stream, logSocket } = this.#parts;
      const isLog = isPodLog(info);
      if (!isLog && !isPodStream(info)) throw badRequest('nothing here can be upgraded');
      const acting = actingUser(user, request, this.#parts.authorize);
      const attributes = { ...attributesOf(info, acting), verb: isLog ? 'get' : 'create' };
      const reason = this.#parts.authorize(attributes);
      if (reason !== undefined) throw denied(attributes, reason);
      await (isLog ? logSocket : stream)(info, connection);
    } catch (error) {
      const response = new ServerResponse(request);
      response.shouldKeepAlive = false;
      response.assignSocket(request.socket);
      response.once('finish', () => request.socket.destroySoon());
      send(response, errorAnswer(error), undefined);
    }
  }

  async #serve(request: Request, user: User | undefined, response: ServerResponse): Promise<void> {
    const { info, payload, fault } = request;
    const { registry } = this.#parts;
    const health = healthText(info);
    if (health !== undefined) {
      response.writeHead(200, { 'content-type': 'text/plain; charset=utf-8' }).end(health);
      return;
    }
    if (user === undefined) throw unauthorized();
    const { resource, review, usage } = servedBy(info);
    const isOfObjects = (resource ?? review ?? usage) !== undefined;
    const verb = info.method === 'HEAD' ? 'get' : info.method.toLowerCase();
    if (!isOfObjects && !isPathAllowed({ user, verb, path: info.path })) throw deniedPath(info, user);
    if (info.path === '/metrics') {
      const families = this.metrics.families(registry.store, this.watches.size);
      response.writeHead(200, { 'content-type': EXPOSITION_TYPE }).end(exposition(families));
      return;
    }
    if (!isOfObjects) {
      const aggregated = aggregatedDiscovery(info, request.accept);
      const body = aggregated?.body ?? discover(info) ?? openApi(info.path);
      if (body === undefined) throw noSuchPath();
      const encoding = openApiEncoding(info.path, request.accept);
      send(response, { code: 200, body, ...aggregated }, fault, encoding);
      return;
    }
    const attributes = attributesOf(info, user);
    const reason = this.#parts.authorize(attributes);
    if (reason !== undefined) throw denied(attributes, reason);
    if (review !== undefined) {
      if (info.verb !== 'create') throw methodNotAllowed();
      const encoding = encodingOf(request.accept);
      const asked = typedObjectOf(payload, { kind: review.kind, apiVersion: apiVersionOf(review) });
      const body = answerReview(review, asked, user, { ...this.#parts, namespace: info.namespace });
      send(response, { code: 201, body }, fault, encoding);
    } else if (usage !== undefined) {
      const encoding = encodingOf(request.accept);
      const body = await answerUsage(usage, info, this.#parts);
      send(response, { code: 200, body: asTable(usage, body, request.table, registry.now()) }, fault, encoding);
    } else if (resource !== undefined) {
      await this.#serveResource(resource, request, user, response);
    }
  }

  async #serveResource(resource: Resource, request: Request, user: User, response: ServerResponse): Promise<void> {
    const { registry, issuer, log, proxy } = this.#parts;
    const { info, payload, table, accept, fault } = request;
    const { verb, subresource, namespace, name } = info;
    if (verb === 'watch') {
      this.#watch(resource, request, user, response);
    } else if (subresource === 'log') {
      await log(info, response);
    } else if (resource.kind === 'Node' && /^proxy(\/|$)/.test(subresource)) {
      await proxy(info, response);
    } else if (subresource === 'token' && verb === 'create') {
      const encoding = encodingOf(accept);
      const account = { resource, namespace, name, subresource };
      const body = answerTokenRequest(issuer, account, typedObjectOf(payload, TOKEN_REQUEST), user);
      send(response, { code: 201, body }, fault, encoding);
    } else {
      const encoding = encodingOf(accept);
      if (resource.kind === 'Pod' && verb === 'create') await defaultAccount(registry, namespace);
      const { body, ...answer } = answerObjects(registry, resource, info, payload, user);
      send(response, { ...answer, body: asTable(resource, body, table, registry.now()) }, fault, encoding);
    }
  }

  #watch(resource: Resource, { info, table, accept, fault }: Request, user: User, response: ServerResponse): void {
    const { store, now } = this.#parts.registry;
    const encoding = table === undefined ? encodingOf(accept) : 'json';
    const shown = ({ type, object }: WatchEvent) =>
      this.#events.encode(type, type === 'ERROR' ? object : asTable(resource, object, table, now()), encoding);
    const output = {
      send: (event: WatchEvent) => {
        response.write(shown(event));
        // A client that does not read continues from where it was, when it reads again.
        if (response.writableLength > UNREAD_BYTES) watch.cut();
      },
      end: () => void response.end(),
      reset: () => void response.destroy(),
    };
    const watch: Watch = new Watch({ store, resource, info, user: user.username, output });
    response.writeHead(200, { 'content-type': watchMediaType(encoding) }).flushHeaders();
    const seconds = Number(info.query.get('timeoutSeconds') ?? 0);
    const timer = seconds > 0 ? setTimeout(() => watch.end(), seconds * 1000) : undefined;
    this.watches.add(watch);
    response.once('close', () => {
      clearTimeout(timer);
      watch.closed();
      this.watches.delete(watch);
    });
    if (fault?.kind === 'reset') watch.cut();
    else if (fault?.kind === 'silence') watch.stall();
    watch.start();
  }
}

/** Calls back with the result of a request. */
function whenClosed(response: ServerResponse, began: number, done: (outcome: Outcome) => void): void {
  response.once('close', () => {
    const status = response.headersSent ? { status: response.statusCode } : {};
    done({ ...status, durationMs: performance.now() - began });
  });
}

/** Applies a fault before the request is served. @returns whether the request is finished. */
async function strike(fault: Fault, response: ServerResponse): Promise<boolean> {
  if (fault.kind === 'delay') {
    await fault.until;
    return response.destroyed;
  }
  if (fault.kind === 'answer') {
    send(response, errorAnswer(fault.error), undefined);
    return true;
  }
  if (fault.after === 'request' && fault.kind === 'reset') response.destroy();
  return fault.after === 'request';
}

function errorAnswer(error: unknown): Answer {
  const { status } = error instanceof StatusError ? error : internalError(toError(error));
  return { code: status.code, body: status };
}

function internalError(error: Error): StatusError {
  const isFull = error instanceof StoreError && error.code === 'DiskFull';
  return failure(isFull ? 507 : 500, 'InternalError', `Internal error occurred: ${error.message}`);
}

function send(
  response: ServerResponse,
  { code, body, warnings = [], contentType }: Answer,
  fault: Fault | undefined,
  encoding: BodyEncoding = 'json',
): void {
  if (fault?.kind === 'reset') {
    response.destroy();
    return;
  }
  if (fault?.kind === 'silence') return;
  const retryAfter = at(body, 'details', 'retryAfterSeconds');
  const { mediaType, content } = encoded(body, encoding);
  if (typeof retryAfter === 'number') response.setHeader('retry-after', retryAfter);
  if (warnings.length > 0) {
    response.setHeader(
      'warning',
      warnings.map((text) => `299 - ${JSON.stringify(text)}`),
    );
  }
  response.writeHead(code, { 'content-type': contentType ?? mediaType }).end(content);
}
