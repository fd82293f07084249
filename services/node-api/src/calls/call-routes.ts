import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { ContainerCalls, ContainerName } from './container-calls.ts';
import { queryOf, sendJson, sendText, serveFor } from '../server/routes.ts';

/** Single calls on a container: commands without a stream, checkpoints (behaviour:http-api). */
export function addCallRoutes(app: FastifyInstance, calls: ContainerCalls): void {
  for (const path of ['/run/:namespace/:pod/:container', '/run/:namespace/:pod/:uid/:container']) {
    serveFor(app, ['POST'], path, async (request, reply) => {
      const [command = ''] = queryOf(request)['cmd'] ?? [];
      const answer = await calls.run(nameOf(request), command.split(' '));
      if ('status' in answer) return sendText(reply, answer.status, answer.text);
      return reply.type('application/json').send(answer);
    });
  }
  serveFor(app, ['POST'], '/checkpoint/:namespace/:pod/:container', async (request, reply) => {
    // Of several values the last one counts.
    const timeout = queryOf(request)['timeout']?.at(-1) ?? '0';
    if (!/^\d{1,18}$/.test(timeout)) return sendText(reply, 404, 'cannot parse value of timeout parameter');
    const answer = await calls.checkpoint(nameOf(request), BigInt(timeout));
    if ('status' in answer) return sendText(reply, answer.status, answer.text);
    return sendJson(reply, { items: [answer.path] });
  });
}

function nameOf({ params }: FastifyRequest): ContainerName {
  return params as ContainerName;
}
