import { fastify } from 'fastify';
import type { AddressInfo } from 'node:net';
import type { Registry } from 'prom-client';
import type { Health } from './health.ts';

/** Serves `/healthz`, `/readyz` and `/metrics` on loopback. `port` 0 lets the system choose. Returns `host:port`. */
export async function serveHttp(options: {
  health: Health;
  metrics: Registry;
  port: number;
}): Promise<{ address: string; close: () => Promise<void> }> {
  const app = fastify({ logger: false, forceCloseConnections: true });
  for (const [path, kind] of [
    ['/healthz', 'live'],
    ['/readyz', 'ready'],
  ] as const) {
    app.get(path, async (_request, reply) => {
      const report = options.health.report(kind);
      return reply.code(report.ok ? 200 : 503).send(report);
    });
  }
  app.get('/metrics', async (_request, reply) => {
    const text = await options.metrics.metrics();
    return reply.type(options.metrics.contentType).send(text);
  });
  await app.listen({ host: '127.0.0.1', port: options.port });
  const { port } = app.server.address() as AddressInfo;
  return { address: `127.0.0.1:${port}`, close: () => app.close() };
}
