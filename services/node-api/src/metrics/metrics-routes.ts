import { EXPOSITION_TYPE, type MetricFamily } from '@kubus/metrics';
import type { FastifyInstance } from 'fastify';
import { Compression } from './compression.ts';
import { ExpositionBuffer } from './exposition-buffer.ts';
import type { NodeMetrics } from './node-metrics.ts';
import { get } from '../server/routes.ts';

/** Serves the node's metrics in Prometheus' text format (behaviour:http-api and behaviour:metrics). */
export function addMetricsRoutes(app: FastifyInstance, metrics: NodeMetrics): void {
  serveFamilies(app, '/metrics', () => metrics.all());
  serveFamilies(app, '/metrics/probes', () => metrics.probes());
  serveFamilies(app, '/metrics/slis', () => metrics.slis());
}

/** Serves families in that format, compressed for clients that accept it. */
export function serveFamilies(
  app: FastifyInstance,
  url: string,
  families: () => Promise<readonly MetricFamily[]>,
): void {
  const buffer = new ExpositionBuffer();
  const compression = new Compression();
  get(app, url, async (request, reply) => {
    const found = await families();
    reply.type(EXPOSITION_TYPE).header('vary', 'accept-encoding');
    if (!takesGzip(request.headers['accept-encoding'])) {
      return reply.send(await buffer.use(found, (text) => Buffer.from(text)));
    }
    const { bytes, release } = await buffer.use(found, (text) => compression.compress(text));
    // After a failed write the system may still use this memory.
    reply.raw.once('finish', release);
    return reply.header('content-encoding', 'gzip').send(bytes);
  });
}

/** Whether the header accepts gzip (RFC 9110, 12.5.3). */
function takesGzip(header: string | string[] | undefined): boolean {
  const codings = String(header ?? '').split(',');
  return codings.some((coding) => /^\s*gzip\s*(?:;\s*q=(?!0(?:\.0*)?\s*$).*)?$/i.test(coding));
}
