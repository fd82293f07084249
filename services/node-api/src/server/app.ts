import type { NodeStatistics } from '@kubus/node-usage';
import { type RequestAttributes, type User, podList, requestAttributes, runningPodList } from '@kubus/node-requests';
import { type Logger, toError } from '@kubus/ports';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { readFile } from 'node:fs/promises';
import { STATUS_CODES } from 'node:http';
import type { Authentication } from '../auth/authentication.ts';
import type { Authorization, Refusal } from '../auth/authorization.ts';
import { addCallRoutes } from '../calls/call-routes.ts';
import type { ContainerCalls } from '../calls/container-calls.ts';
import type { ContainerLogs } from '../logs/container-logs.ts';
import type { ContainerStreams, StreamKind } from '../streams/container-streams.ts';
import { type DebugOptions, addDebugRoutes } from '../debug/debug-routes.ts';
import { type HealthAnswer, checkAnswer, healthAnswer } from '../health/health-answer.ts';
import type { HealthCheck } from '../health/health-checks.ts';
import { addMetricsRoutes } from '../metrics/metrics-routes.ts';
import type { NodeFacts } from '../node-facts.ts';
import type { NodeMetrics } from '../metrics/node-metrics.ts';
import { addStatsRoutes } from '../stats/stats-routes.ts';
import { observeRequests } from '../metrics/request-metrics.ts';
import { get, hasLongBody, hasLongQuery, queryOf, sendJson, sendText, serveFor } from './routes.ts';
import { type SystemLogOptions, addSystemLogRoutes } from '../logs/system-log-routes.ts';
import { isUpgrade, takeUpgrade } from './upgrades.ts';

/** Authenticates and authorizes requests. */
export interface Guard {
  readonly authentication: Pick<Authentication, 'authenticate'>;
  readonly authorization: Pick<Authorization, 'refusal'>;
}

/** Handlers that give access to containers; served only with a guard. */
interface DebuggingHandlers {
  readonly logs: ContainerLogs;
  readonly streams: ContainerStreams;
  readonly calls: ContainerCalls;
  /** Undefined: the machine's logs are not served. */
  readonly systemLogs: SystemLogOptions | undefined;
  readonly debug: DebugOptions;
  /** The file that /configz answers with; omitted: it is not served. */
  readonly configz: string | undefined;
}

export interface AppOptions {
  readonly checks: readonly HealthCheck[];
  /** Omitted: only health is served. */
  readonly facts?: NodeFacts;
  /** Omitted: no metrics are served, and requests are not counted. */
  readonly metrics?: NodeMetrics;
  /** Omitted: no statistics of the node and its pods are served. */
  readonly statistics?: NodeStatistics;
  /** Omitted: every request is served. */
  readonly guard?: Guard;
  /** Omitted: they are disabled, and requests for them are answered accordingly. */
  readonly debugging?: DebuggingHandlers | undefined;
  readonly logger: Logger;
}

/** The name of a pod: a DNS subdomain (RFC 1123). */
const LONGEST_NAME = 253;

/** The paths of the debugging handlers. */
const debuggingPaths = [
  '/run',
  '/exec',
  '/attach',
  '/portForward',
  '/containerLogs',
  '/runningpods',
  '/debug/pprof',
  '/logs',
];

/** The routes of one of the node's servers (behaviour:http-api), ready for requests. */
export async function createApp(options: AppOptions): Promise<FastifyInstance> {
  const { checks, facts, metrics, statistics, guard, debugging, logger } = options;
  const { default: fastify } = await import('fastify');
  const app = fastify({
    logger: false,
    exposeHeadRoutes: false,
    routerOptions: { ignoreTrailingSlash: true, maxParamLength: LONGEST_NAME },
    frameworkErrors: (error, _request, reply) => {
      const status = error.statusCode ?? 500;
      sendText(reply, status, `${status} ${STATUS_CODES[status] ?? ''}`);
    },
  });
  // Only one route reads a body, in a scope of its own; any other body is read and dropped.
  app.removeAllContentTypeParsers();
  app.addContentTypeParser('*', (_request, payload, done) => {
    payload.resume();
    done(null);
  });
  if (metrics !== undefined) observeRequests(app, metrics.requests, guard === undefined ? 'readonly' : 'readwrite');
  app.addHook('onRequest', async (request, reply) => {
    // What a pod or a service has written is never to be taken for a page.
    reply.header('x-content-type-options', 'nosniff');
    if (hasLongBody(request)) reply.header('connection', 'close');
    const { host = [] } = request.raw.headersDistinct;
    const wrong =
      host.length > 1
        ? 'too many Host headers'
        : hasLongQuery(request)
          ? 'too many parameters in the query'
          : undefined;
    if (wrong === undefined) return undefined;
    return sendText(reply.header('connection', 'close'), 400, `400 Bad Request: ${wrong}`);
  });
  const users = new WeakMap<FastifyRequest, User>();
  if (guard !== undefined) app.addHook('onRequest', (request, reply) => admit(guard, users, request, reply));
  app.setNotFoundHandler((_request, reply) => sendText(reply, 404, '404 page not found\n'));
  app.setErrorHandler((error, request, reply) => {
    logger.error({ method: request.method, path: request.routeOptions.url, err: toError(error) }, 'request failed');
    return sendText(reply, 500, 'internal server error\n');
  });
  addHealth(app, checks, logger);
  if (metrics !== undefined) addMetricsRoutes(app, metrics);
  if (statistics !== undefined) addStatsRoutes(app, statistics);
  if (facts !== undefined) {
    get(app, '/pods', (_request, reply) => sendJson(reply, podList(facts.pods())));
    if (debugging === undefined) addDisabled(app);
    else addDebugging(app, facts, debugging, (request) => users.get(request)?.name ?? '');
  }
  await app.ready();
  return app;
}

/** Refuses requests that are not authenticated or not allowed, by their route: no spelling of a path bypasses the check. */
async function admit(
  { authentication, authorization }: Guard,
  users: WeakMap<FastifyRequest, User>,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<unknown> {
  const user = await authentication.authenticate(request.socket, request.headers.authorization);
  if (user === undefined) return sendText(reply, 401, 'Unauthorized');
  users.set(request, user);
  const attributes: RequestAttributes = requestAttributes(request.method, request.routeOptions.url ?? '');
  const refusal = await authorization.refusal(user, attributes);
  return refusal && refuse(reply, refusal);
}

function addHealth(app: FastifyInstance, checks: readonly HealthCheck[], logger: Logger): void {
  const answer = (reply: FastifyReply, { ok, text, problems }: HealthAnswer) => {
    if (!ok) logger.warn({ problems }, 'health check failed');
    return sendText(reply, ok ? 200 : 500, text);
  };
  get(app, '/healthz', async (request, reply) => {
    const query = queryOf(request);
    const asked = { excluded: query['exclude'] ?? [], verbose: query['verbose'] !== undefined };
    return answer(reply, await healthAnswer(checks, asked));
  });
  for (const check of checks) {
    get(app, `/healthz/${check.name}`, async (_request, reply) => answer(reply, await checkAnswer(check)));
  }
}

function addDebugging(
  app: FastifyInstance,
  facts: NodeFacts,
  { logs, streams, calls, systemLogs, debug, configz }: DebuggingHandlers,
  userOf: (request: FastifyRequest) => string,
): void {
  get(app, '/runningpods', (_request, reply) => sendJson(reply, runningPodList(facts.runtimePods())));
  get(app, '/containerLogs/:namespace/:pod/:container', async (request, reply) => {
    const params = request.params as { namespace: string; pod: string; container: string };
    const chosen = logs.choose({ ...params, query: queryOf(request), user: userOf(request) });
    if ('status' in chosen) return refuse(reply, chosen);
    reply.hijack();
    return logs.serve(chosen, reply.raw);
  });
  addStreams(app, streams, userOf);
  addCallRoutes(app, { calls, streams }, userOf);
  addSystemLogRoutes(app, systemLogs);
  addDebugRoutes(app, debug);
  if (configz !== undefined) {
    get(app, '/configz', async (_request, reply) =>
      reply.type('application/json').send(await readFile(configz, 'utf8')),
    );
  }
}

/** The streams of a container; a path may name the pod's UID. */
function addStreams(
  app: FastifyInstance,
  streams: ContainerStreams,
  userOf: (request: FastifyRequest) => string,
): void {
  const serve = (kind: StreamKind) => async (request: FastifyRequest, reply: FastifyReply) => {
    const params = request.params as { namespace: string; pod: string; uid?: string; container?: string };
    const { container = '' } = params;
    const chosen = streams.choose({ ...params, kind, container, query: queryOf(request), user: userOf(request) });
    if ('status' in chosen) return refuse(reply, chosen);
    // Without it nobody could use the address, except whoever reads it from the messages.
    if (!isUpgrade(request.raw)) return sendText(reply, 400, 'Upgrade request required');
    const runtime = await streams.reach(chosen, request.raw);
    if ('status' in runtime) return refuse(reply, runtime);
    reply.hijack();
    return streams.connect(chosen, runtime, takeUpgrade(request.raw, reply.raw));
  };
  const pod = ':namespace/:pod';
  for (const [path, kind] of [
    [`/exec/${pod}/:container`, 'exec'],
    [`/exec/${pod}/:uid/:container`, 'exec'],
    [`/attach/${pod}/:container`, 'attach'],
    [`/attach/${pod}/:uid/:container`, 'attach'],
    [`/portForward/${pod}`, 'portForward'],
    [`/portForward/${pod}/:uid`, 'portForward'],
  ] as const) {
    serveFor(app, ['GET', 'POST'], path, serve(kind));
  }
}

function addDisabled(app: FastifyInstance): void {
  for (const path of debuggingPaths.flatMap((begin) => [begin, `${begin}/*`])) {
    app.all(path, (_request, reply) => sendText(reply, 405, 'Debug endpoints are disabled.\n'));
  }
}

function refuse(reply: FastifyReply, { status, text }: Refusal): FastifyReply {
  return sendText(reply, status, text);
}
