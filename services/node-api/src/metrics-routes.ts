import { EXPOSITION_TYPE, type MetricFamily } from '@kubus/metrics';
import type { FastifyInstance } from 'fastify';
import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import { ExpositionBuffer } from './exposition-buffer.ts';
import type { NodeMetrics } from './node-metrics.ts';
import { get } from './routes.ts';

const compress = promisify(gzip);

/** Serves the node's metrics in Prometheus' text format (kubelet behaviour 5 and 6). */
export function addMetricsRoutes(app: FastifyInstance, metrics: NodeMetrics): void {
  serveFamilies(app, '/metrics', () => metrics.all());
  serveFamilies(app, '/metrics/probes', () => metrics.probes());
  serveFamilies(app, '/metrics/slis', () => metrics.slis());
}

/** Serves families in that format, compressed for who understands that: quickly, for most of it is said again and again. */
export function serveFamilies(
  app: FastifyInstance,
  url: string,
  families: () => Promise<readonly MetricFamily[]>,
): void {
  const buffer = new ExpositionBuffer();
  get(app, url, async (request, reply) => {
    const found = await families();
    reply.type(EXPOSITION_TYPE).header('vary', 'accept-encoding');
    if (!takesGzip(request.headers['accept-encoding'])) {
      return reply.send(await buffer.use(found, (text) => Buffer.from(text)));
    }
    const compressed = await buffer.use(found, (text) => compress(text, { level: 1 }));
    return reply.header('content-encoding', 'gzip').send(compressed);
  });
}

/** Whether the header lists gzip, and not to leave it out (RFC 9110, 12.5.3). */
function takesGzip(header: string | string[] | undefined): boolean {
  const codings = String(header ?? '').split(',');
  return codings.some((coding) => /^\s*gzip\s*(?:;\s*q=(?!0(?:\.0*)?\s*$).*)?$/i.test(coding));
}
