import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { ContainerCalls, ContainerName } from './container-calls.ts';
import type { ContainerStreams } from '../streams/container-streams.ts';
import { queryOf, sendJson, sendText, serveFor } from '../server/routes.ts';

/** Single calls on a container: commands that are run to their end, checkpoints (behaviour:http-api). */
export function addCallRoutes(
  app: FastifyInstance,
  { calls, streams }: { readonly calls: ContainerCalls; readonly streams: ContainerStreams },
  userOf: (request: FastifyRequest) => string,
): void {
  for (const path of ['/run/:namespace/:pod/:container', '/run/:namespace/:pod/:uid/:container']) {
    serveFor(app, ['POST'], path, async (request, reply) => {
      const [command = ''] = queryOf(request)['cmd'] ?? [];
      const query = { command: command.split(' '), output: ['1'], error: ['1'] };
      const chosen = streams.choose({ ...nameOf(request), kind: 'exec', query, user: userOf(request) });
      const answer = 'status' in chosen ? chosen : await streams.run(chosen);
      if ('status' in answer) return sendText(reply, answer.status, answer.text);
      const { stdout, stderr, exitCode } = answer;
      if (exitCode !== 0) {
        return sendText(reply, 500, `command '${command}' exited with ${exitCode}: ${stderr.toString()}`);
      }
      return reply.type('application/json').send(Buffer.concat([stdout, stderr]));
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
