import type { NodeStatistics } from '@kubus/node-usage';
import type { FastifyInstance } from 'fastify';
import { serveFamilies } from '../metrics/metrics-routes.ts';
import { get, queryOf, sendJson } from '../server/routes.ts';

/** Serves what the node and its pods use (behaviour:http-api and behaviour:metrics). */
export function addStatsRoutes(app: FastifyInstance, statistics: NodeStatistics): void {
  get(app, '/stats/summary', async (request, reply) => {
    const [only] = queryOf(request)['only_cpu_and_memory'] ?? [];
    return sendJson(reply, await statistics.summary(isTrue(only)));
  });
  serveFamilies(app, '/metrics/cadvisor', () => statistics.cadvisor());
  serveFamilies(app, '/metrics/resource', () => statistics.resource());
}

/** The words that the reference accepts as true. */
function isTrue(word: string | undefined): boolean {
  return word !== undefined && ['1', 't', 'T', 'true', 'TRUE', 'True'].includes(word);
}
