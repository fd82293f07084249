import type { TopologyFacts } from '@kubus/causality';
import { type ObservatoryDocument, startRecordingSchema } from '@kubus/contracts/observatory';
import { type Ids, type Logger, toError } from '@kubus/ports';
import { RecordingError } from '@kubus/recording';
import { type FastifyInstance, type FastifyReply, type FastifyRequest, fastify } from 'fastify';
import { readFile } from 'node:fs/promises';
import { Readable } from 'node:stream';
import { addFaults } from './fault-routes.ts';
import type { Faults } from './faults.ts';
import type { ReadPressure } from './node-pressure.ts';
import { addPage } from './page-files.ts';
import {
  compareQuery,
  densityQuery,
  latencyQuery,
  messagesQuery,
  parsed,
  pressureQuery,
  topologyQuery,
  traceQuery,
} from './queries.ts';
import { type Recordings, RequestError } from './recordings.ts';
import type { Side, TraceFormat } from './tasks.ts';
import { type Text, type Threads, bytesOf } from './threads.ts';

/** Path prefix of the API; the page's files lie beside it. */
const ROOT = '/api/v1';

export interface AppOptions {
  readonly recordings: Recordings;
  readonly threads: Threads;
  /** Version of Kubus. */
  readonly version: string;
  /** Folder of the page's files. */
  readonly page?: string | undefined;
  /** File of the published contract. */
  readonly contract?: string | undefined;
  /** Controls of the faults, on a node that was started with them. */
  readonly faults?: Faults | undefined;
  /** Undefined: there is no node, only files. */
  readonly pressure?: ReadPressure | undefined;
  /** What of the node is known now. Undefined: there is no node. */
  readonly topology?: (() => TopologyFacts) | undefined;
  readonly ids: Ids;
  readonly logger: Logger;
}

/** The observatory's API and page (packages/contract/contracts/src/observatory). Access control is up to the caller that listens. */
export async function createApp(options: AppOptions): Promise<FastifyInstance> {
  const { recordings, threads, version, page, logger, faults, ids } = options;
  const app = fastify({ logger: false });
  app.setErrorHandler((error, request, reply) => refuse(error, request, reply, logger));
  app.setNotFoundHandler((_request, reply) => sendError(reply, 404, 'no-path', 'nothing exists at this path'));
  // An uploaded recording is read as a stream, whatever its content type.
  app.addContentTypeParser('application/octet-stream', (_request, payload, done) => done(null, payload));
  const { node } = recordings;
  const about: ObservatoryDocument = { version, ...(node !== undefined && { node }), faults: faults !== undefined };
  app.get(`${ROOT}/`, () => about);
  app.get(ROOT, () => about);
  addRecordings(app, recordings);
  addMessages(app, recordings, threads);
  addAnalysis(app, recordings, threads, about.faults);
  app.get(`${ROOT}/recordings/:name/topology`, async (request, reply) => {
    const { at } = parsed(topologyQuery, request.query);
    const { state } = await recordings.document(nameOf(request));
    const now = state === 'live' || state === 'recording' ? options.topology?.() : undefined;
    return sendText(reply, threads.long({ do: 'topology', file: recordings.path(nameOf(request)), at, now }));
  });
  addFaults(app, { root: ROOT, node, faults, ids });
  app.get(`${ROOT}/pressure`, (request) => {
    const { signal } = parsed(pressureQuery, request.query);
    if (options.pressure !== undefined) return options.pressure(signal);
    throw new RequestError(
      404,
      'no-node',
      'these recordings are files; there is no node that could be short of anything',
    );
  });
  app.get(`${ROOT}/live`, (request, reply) => streamTicks(recordings, request, reply));
  app.get(`${ROOT}/contract`, async (_request, reply) => {
    const text = options.contract === undefined ? undefined : await readFile(options.contract).catch(() => undefined);
    if (text === undefined)
      throw new RequestError(
        404,
        'no-contract',
        'the contract is not built: pnpm --filter @kubus/contract-document build',
      );
    return reply.type('application/json').send(text);
  });
  app.get(`${ROOT}/*`, (_request, reply) => sendError(reply, 404, 'no-path', 'nothing exists at this path'));
  addPage(app, page);
  await app.ready();
  return app;
}

function addRecordings(app: FastifyInstance, recordings: Recordings): void {
  app.get(`${ROOT}/recordings`, () => recordings.list());
  app.post(`${ROOT}/recordings`, async (request, reply) => {
    const { name } = parsed(startRecordingSchema, request.body);
    return reply.code(201).send(await recordings.start(name));
  });
  app.get(`${ROOT}/recordings/:name`, (request) => recordings.document(nameOf(request)));
  app.delete(`${ROOT}/recordings/:name`, (request, reply) => {
    recordings.remove(nameOf(request));
    return reply.code(204).send();
  });
  app.post(`${ROOT}/recordings/:name/stop`, (request) => recordings.stop(nameOf(request)));
  app.get(`${ROOT}/recordings/:name/file`, async (request, reply) => {
    const name = nameOf(request);
    const file = await recordings.file(name);
    return reply
      .type('application/vnd.sqlite3')
      .header('content-disposition', `attachment; filename="${name.replace(/^~/, '')}.kubus"`)
      .send(file);
  });
  // The size limit is applied where the file is written.
  app.put(`${ROOT}/recordings/:name/file`, { bodyLimit: Number.MAX_SAFE_INTEGER }, async (request, reply) => {
    if (!(request.body instanceof Readable)) {
      throw new RequestError(400, 'bad-request', 'the recording must be sent as application/octet-stream');
    }
    return reply.code(201).send(await recordings.take(nameOf(request), request.body));
  });
}

function addMessages(app: FastifyInstance, recordings: Recordings, threads: Threads): void {
  const fileOf = (request: FastifyRequest) => recordings.path(nameOf(request));
  app.get(`${ROOT}/recordings/:name/pods`, (request, reply) => {
    return sendText(reply, threads.short({ do: 'pods', file: fileOf(request) }));
  });
  app.get(`${ROOT}/recordings/:name/pods/:uid`, (request, reply) => {
    return sendText(reply, threads.long({ do: 'timeline', file: fileOf(request), uid: parameter(request, 'uid') }));
  });
  app.get(`${ROOT}/recordings/:name/messages`, (request, reply) => {
    const { limit, ...given } = parsed(messagesQuery, request.query);
    const filter = withoutMissing(given);
    return sendText(reply, threads.short({ do: 'page', file: fileOf(request), filter, limit }));
  });
  app.get(`${ROOT}/recordings/:name/messages/:seq`, (request, reply) => {
    const seq = Number(parameter(request, 'seq'));
    if (!Number.isSafeInteger(seq)) throw new RequestError(400, 'bad-request', 'seq: must be a whole number');
    return sendText(reply, threads.short({ do: 'message', file: fileOf(request), seq }));
  });
  app.get(`${ROOT}/recordings/:name/density`, (request, reply) => {
    const { buckets } = parsed(densityQuery, request.query);
    return sendText(reply, threads.short({ do: 'density', file: fileOf(request), buckets }));
  });
}

function addAnalysis(app: FastifyInstance, recordings: Recordings, threads: Threads, faults: boolean): void {
  app.get(`${ROOT}/recordings/:name/latency`, (request, reply) => {
    const { what } = parsed(latencyQuery, request.query);
    return sendText(reply, threads.again({ do: 'latency', file: recordings.path(nameOf(request)), what }));
  });
  app.get(`${ROOT}/recordings/:name/map`, (request, reply) => {
    return sendText(reply, threads.again({ do: 'map', file: recordings.path(nameOf(request)), faults }));
  });
  app.get(`${ROOT}/compare`, (request, reply) => {
    const { left, right, what } = parsed(compareQuery, request.query);
    const side = (text: string): Side => {
      const [name = '', uid] = text.split('/');
      return { file: recordings.path(name), name, uid };
    };
    return sendText(reply, threads.long({ do: 'compare', what, left: side(left), right: side(right) }));
  });
  app.get(`${ROOT}/recordings/:name/trace`, (request, reply) => {
    const { format, pod } = parsed(traceQuery, request.query);
    const name = nameOf(request);
    const { type, end } = formats[format];
    const file = [name.replace(/^~/, ''), ...(pod === undefined ? [] : [pod])].join('-').replaceAll(/[^\w.-]/g, '_');
    return reply
      .type(type)
      .header('content-disposition', `attachment; filename="${file}.${end}"`)
      .send(threads.trace({ do: 'trace', file: recordings.path(name), format, pod }));
  });
}

async function sendText(reply: FastifyReply, text: Promise<Text>): Promise<FastifyReply> {
  return reply.type('application/json; charset=utf-8').send(bytesOf(await text));
}

const formats: Readonly<Record<TraceFormat, { type: string; end: string }>> = {
  otlp: { type: 'application/x-ndjson', end: 'otlp.jsonl' },
  chrome: { type: 'application/json', end: 'trace.json' },
  jsonl: { type: 'application/x-ndjson', end: 'jsonl' },
};

/** Sends server-sent events until the client disconnects. */
function streamTicks(recordings: Recordings, request: FastifyRequest, reply: FastifyReply): void {
  const { raw } = reply;
  const end = recordings.follow((tick) => {
    // A client that does not read misses ticks: each tick is complete in itself.
    if (!raw.writableNeedDrain) raw.write(`data: ${JSON.stringify(tick)}\n\n`);
  });
  reply.hijack();
  raw.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-store' });
  raw.write(': follows\n\n');
  request.raw.once('close', end);
}

function nameOf(request: FastifyRequest): string {
  return parameter(request, 'name');
}

function parameter(request: FastifyRequest, name: string): string {
  return (request.params as Record<string, string | undefined>)[name] ?? '';
}

function withoutMissing<T extends object>(value: T): { [K in keyof T]: Exclude<T[K], undefined> } {
  return Object.fromEntries(Object.entries(value).filter(([, one]) => one !== undefined)) as never;
}

function refuse(thrown: unknown, request: FastifyRequest, reply: FastifyReply, logger: Logger): FastifyReply {
  const error = toError(thrown);
  if (error instanceof RequestError) return sendError(reply, error.status, error.code, error.message);
  if (error instanceof RecordingError) return sendError(reply, 409, error.code, error.message);
  if ('statusCode' in error && typeof error.statusCode === 'number' && error.statusCode < 500) {
    return sendError(reply, error.statusCode, 'bad-request', error.message);
  }
  logger.error({ method: request.method, path: request.routeOptions.url, err: error }, 'a request failed');
  return sendError(reply, 500, 'failed', 'the request failed; see the log of the observatory');
}

function sendError(reply: FastifyReply, status: number, code: string, message: string): FastifyReply {
  return reply.code(status).type('application/json').send({ error: { code, message } });
}
