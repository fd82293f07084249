import type { FastifyInstance } from 'fastify';
import { once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Health } from './health.ts';
import { hasBody, httpServer } from './http-server.ts';
import type { Metrics } from './metrics.ts';

/** Which report a request asks for. HEAD gets the header of the answer to GET. */
function reportFor({ method, url = '' }: IncomingMessage): 'live' | 'ready' | undefined {
  if (method !== 'GET' && method !== 'HEAD') return undefined;
  const [path] = url.split('?', 1);
  if (path === '/healthz') return 'live';
  return path === '/readyz' ? 'ready' : undefined;
}

/**
 * Serves `/healthz`, `/readyz` and, if there are metrics, `/metrics` and, for the node's API, the same as `/metrics.json` on loopback. `port` 0 lets the system choose. Returns `host:port`.
 *
 * Only the listening socket exists from the start: fastify is loaded with the first request for metrics, which saves every
 * service without such requests 10 MB and a tenth of its start time. The launcher asks for health all the time.
 */
export async function serveHttp(options: {
  health: Pick<Health, 'report'>;
  metrics?: Metrics;
  port: number;
}): Promise<{ address: string; close: () => Promise<void> }> {
  let app: Promise<FastifyInstance> | undefined;
  const server = httpServer((request, response) => {
    // No route reads a body.
    if (hasBody(request)) response.setHeader('connection', 'close');
    const kind = reportFor(request);
    if (kind !== undefined) {
      const report = options.health.report(kind);
      response.writeHead(report.ok ? 200 : 503, { 'content-type': 'application/json; charset=utf-8' });
      response.end(JSON.stringify(report));
      return;
    }
    const { metrics } = options;
    if (metrics === undefined) {
      response.writeHead(404).end();
      return;
    }
    app ??= makeApp(metrics);
    app.then(
      (made) => made.routing(request, response),
      (error: unknown) => response.writeHead(500).end(String(error)),
    );
  });
  server.listen(options.port, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return {
    address: `127.0.0.1:${port}`,
    close: async () => {
      server.close();
      server.closeAllConnections();
      await (await app)?.close();
    },
  };
}

async function makeApp(metrics: Metrics): Promise<FastifyInstance> {
  const { default: fastify } = await import('fastify');
  const app = fastify({ logger: false });
  app.get('/metrics', async (_request, reply) => {
    const { text, contentType } = await metrics.write();
    return reply.type(contentType).send(text);
  });
  app.get('/metrics.json', async () => metrics.families());
  await app.ready();
  return app;
}
