import type { Query } from '@kubus/node-pods';
import type { FastifyInstance, FastifyReply, FastifyRequest, HTTPMethods } from 'fastify';

export type Handler = (request: FastifyRequest, reply: FastifyReply) => Promise<unknown>;

const TEXT = 'text/plain; charset=utf-8';

/** Serves a path for GET, and refuses the other methods. */
export function get(app: FastifyInstance, url: string, handler: Handler): void {
  serveFor(app, ['GET'], url, handler);
}

/** Serves a path for these methods, and refuses the others. */
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

/** Every value of each parameter, in order. */
export function queryOf({ url }: FastifyRequest): Query {
  const at = url.indexOf('?');
  const query: Record<string, string[]> = {};
  for (const [name, value] of new URLSearchParams(at === -1 ? '' : url.slice(at))) {
    query[name] = [...(query[name] ?? []), value];
  }
  return query;
}
