import { type RequestAttributes, type User, requestAttributes } from '@kubus/node-authorization';
import { type Query, podList, runningPodList } from '@kubus/node-pods';
import { type Logger, toError } from '@kubus/ports';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { readFile } from 'node:fs/promises';
import type { Authentication } from './authentication.ts';
import type { Authorization, Refusal } from './authorization.ts';
import type { ContainerLogs } from './container-logs.ts';
import { type HealthAnswer, checkAnswer, healthAnswer } from './health-answer.ts';
import type { HealthCheck } from './health-checks.ts';
import type { NodeFacts } from './node-facts.ts';

/** Who may ask; left out, everybody may. */
export interface Guard {
  readonly authentication: Authentication;
  readonly authorization: Authorization;
}

/** What can see into containers; served only behind a guard. */
export interface DebuggingHandlers {
  readonly logs: ContainerLogs;
  /** The file that /configz answers with; left out, it is not served. */
  readonly configz: string | undefined;
}

export interface AppOptions {
  readonly checks: readonly HealthCheck[];
  /** Left out: only health is served. */
  readonly facts?: NodeFacts;
  readonly guard?: Guard;
  /** Left out: they are disabled, and say so. */
  readonly debugging?: DebuggingHandlers | undefined;
  readonly logger: Logger;
}

type Handler = (request: FastifyRequest, reply: FastifyReply) => Promise<unknown>;

const TEXT = 'text/plain; charset=utf-8';

/** Where debugging handlers would be. */
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

/** The routes of one of the node's servers (kubelet behaviour 5), ready to be given requests. */
export async function createApp(options: AppOptions): Promise<FastifyInstance> {
  const { checks, facts, guard, debugging, logger } = options;
  const { default: fastify } = await import('fastify');
  const app = fastify({ logger: false, exposeHeadRoutes: false, routerOptions: { ignoreTrailingSlash: true } });
  // Nothing that is served has a body; whatever is sent is read and forgotten.
  app.removeAllContentTypeParsers();
  app.addContentTypeParser('*', (_request, payload, done) => {
    payload.resume();
    done(null);
  });
  const users = new WeakMap<FastifyRequest, User>();
  if (guard !== undefined) app.addHook('onRequest', (request, reply) => admit(guard, users, request, reply));
  app.setNotFoundHandler((_request, reply) => sendText(reply, 404, '404 page not found\n'));
  app.setErrorHandler((error, request, reply) => {
    logger.error({ method: request.method, path: request.routeOptions.url, err: toError(error) }, 'a request failed');
    return sendText(reply, 500, 'internal server error\n');
  });
  addHealth(app, checks, logger);
  if (facts !== undefined) {
    get(app, '/pods', (_request, reply) => sendJson(reply, podList(facts.pods())));
    if (debugging === undefined) addDisabled(app);
    else addDebugging(app, facts, debugging, (request) => users.get(request)?.name ?? '');
  }
  await app.ready();
  return app;
}

/** Answers who is not known or not allowed; the route is what is decided by, so no spelling of a path gets past it. */
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
    if (!ok) logger.warn({ problems }, 'the node is not well');
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
  { logs, configz }: DebuggingHandlers,
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
  if (configz !== undefined) {
    get(app, '/configz', async (_request, reply) =>
      reply.type('application/json').send(await readFile(configz, 'utf8')),
    );
  }
}

function addDisabled(app: FastifyInstance): void {
  for (const path of debuggingPaths.flatMap((begin) => [begin, `${begin}/*`])) {
    app.all(path, (_request, reply) => sendText(reply, 405, 'Debug endpoints are disabled.\n'));
  }
}

/** Serves a path for GET, and refuses the other methods. */
function get(app: FastifyInstance, url: string, handler: Handler): void {
  app.get(url, handler);
  const method = app.supportedMethods.filter((one) => one !== 'GET');
  app.route({
    method,
    url,
    handler: (_request, reply) => sendText(reply.header('allow', 'GET'), 405, '405: Method Not Allowed'),
  });
}

function refuse(reply: FastifyReply, { status, text }: Refusal): FastifyReply {
  return sendText(reply, status, text);
}

function sendText(reply: FastifyReply, status: number, text: string): FastifyReply {
  return reply.code(status).type(TEXT).header('x-content-type-options', 'nosniff').send(text);
}

async function sendJson(reply: FastifyReply, document: object): Promise<FastifyReply> {
  return reply.type('application/json').send(JSON.stringify(document));
}

/** Every value of each parameter, in order. */
function queryOf({ url }: FastifyRequest): Query {
  const at = url.indexOf('?');
  const query: Record<string, string[]> = {};
  for (const [name, value] of new URLSearchParams(at === -1 ? '' : url.slice(at))) {
    query[name] = [...(query[name] ?? []), value];
  }
  return query;
}
