import type { Query } from '@kubus/node-requests';
import type { FastifyInstance, FastifyReply, FastifyRequest, HTTPMethods } from 'fastify';

export type Handler = (request: FastifyRequest, reply: FastifyReply) => Promise<unknown>;

const TEXT = 'text/plain; charset=utf-8';

/** Serves a path for GET and HEAD, and refuses the other methods. */
export function get(app: FastifyInstance, url: string, handler: Handler): void {
  serveFor(app, ['GET', 'HEAD'], url, handler);
}

/** Serves a path for these methods, and refuses all others. */
export function serveFor(app: FastifyInstance, methods: readonly HTTPMethods[], url: string, handler: Handler): void {
  app.route({ method: [...methods], url, handler });
  app.route({
    method: app.supportedMethods.filter((one) => !methods.includes(one)),
    url,
    handler: (_request, reply) => sendText(reply.header('allow', methods.join(', ')), 405, '405: Method Not Allowed'),
  });
}

export function sendText(reply: FastifyReply, status: number, text: string): FastifyReply {
  return reply.code(status).type(TEXT).header('x-content-type-options', 'nosniff').send(text);
}

export async function sendJson(reply: FastifyReply, document: object): Promise<FastifyReply> {
  return reply.type('application/json').send(JSON.stringify(document));
}

/** Every value of each parameter, in order. Takes time in proportion to the URL, whose length the server bounds. */
export function queryOf({ url }: FastifyRequest): Query {
  const at = url.indexOf('?');
  // Without a prototype, a parameter may have any name.
  const query = Object.create(null) as Record<string, string[]>;
  for (const [name, value] of new URLSearchParams(at === -1 ? '' : url.slice(at))) (query[name] ??= []).push(value);
  return query;
}

/** The largest number of parameters of a query; that of Go's `net/url`. */
const MOST_PARAMETERS = 10_000;

/** Whether the query has more parameters than are read. */
export function hasLongQuery({ url }: FastifyRequest): boolean {
  let count = 1;
  for (let at = url.indexOf('&'); at !== -1; at = url.indexOf('&', at + 1)) count += 1;
  return count > MOST_PARAMETERS;
}

/** The largest body that is read from a connection that goes on, in bytes. No route needs more. */
const LARGEST_BODY = 4_096;

/**
 * Whether the answer has to be the last one on its connection, because what the request still sends is longer than what the server
 * reads, or of unknown length.
 */
export function hasLongBody({ headers }: FastifyRequest): boolean {
  return headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > LARGEST_BODY;
}
