import { TokenBucket } from '@kubus/flow';
import { Tally } from '@kubus/metrics';
import { type Clock, type Logger, toError } from '@kubus/ports';
import type { Metrics } from '@kubus/service-kit';
import { rm } from 'node:fs/promises';
import { type Socket, createServer } from 'node:net';
import type { DeviceFacts } from './device-facts.ts';
import type { NodeFacts } from '../node-facts.ts';
import type { PodResourcesMethod } from './pod-resources-options.ts';
import type { PodResourcesServer } from './pod-resources-server.ts';
import { listenPrivately } from '@kubus/service-kit';
import type { Listening } from '../server/servers.ts';

/** Requests per second, and the burst (of the reference). */
const RATE = { qps: 100, burst: 10 };
const VERSION = { server_api_version: 'v1' };
const VERSION_ALPHA = { server_api_version: 'v1alpha1' };

/**
 * Serves the pod resources API on a unix socket. The gRPC server is loaded with the first connection: most nodes have
 * none, and it would only use memory.
 */
export async function listenPodResources(
  path: string,
  {
    facts,
    devices,
    clock,
    logger,
    metrics,
  }: {
    facts: NodeFacts;
    devices: DeviceFacts;
    clock: Clock;
    logger: Logger;
    metrics: Metrics;
  },
): Promise<Pick<Listening, 'close'>> {
  const bucket = new TokenBucket(RATE);
  const requests = new RequestCounts();
  requests.show(metrics);
  let server: Promise<PodResourcesServer> | undefined;
  const load = async () => {
    const { PodResourcesServer: Loaded } = await import('./pod-resources-server.ts');
    const allow = () => bucket.tryTake(clock.now());
    return new Loaded({ facts, devices, allow, count: (method, failed) => requests.add(method, failed) });
  };
  const connections = new Set<Socket>();
  const listener = createServer((connection) => {
    connections.add(connection);
    connection.on('close', () => connections.delete(connection));
    connection.on('error', (error) => logger.debug({ err: error }, 'pod resources connection failed'));
    server ??= load();
    server.then(
      (loaded) => loaded.take(connection),
      (error: unknown) => {
        logger.error({ err: toError(error) }, 'serving pod resources failed');
        connection.destroy();
      },
    );
  });
  await listenPrivately(listener, path);
  return {
    close: async () => {
      const closed = new Promise((resolve) => listener.close(resolve));
      (await server)?.stop();
      for (const connection of connections) connection.destroy();
      await closed;
      await rm(path, { force: true });
    },
  };
}

/** Requests, as the reference counts them (behaviour:metrics). */
class RequestCounts {
  readonly #all = new Tally(VERSION);
  readonly #requests = { list: new Tally(VERSION), get_allocatable: new Tally(VERSION), get: new Tally(VERSION) };
  readonly #errors = { list: new Tally(VERSION), get_allocatable: new Tally(VERSION), get: new Tally(VERSION) };

  add(method: PodResourcesMethod, failed: boolean): void {
    this.#all.add(method === 'v1alpha1' ? VERSION_ALPHA : VERSION);
    if (method === 'v1alpha1') return;
    this.#requests[method].add(VERSION);
    if (failed) this.#errors[method].add(VERSION);
  }

  show(metrics: Metrics): void {
    const show = (name: string, help: string, tally: Tally) =>
      metrics.add({
        type: 'counter',
        name: `kubelet_pod_resources_endpoint_${name}`,
        help,
        collect: () => tally.samples,
      });
    show('requests_total', 'Requests to the pod resources API.', this.#all);
    for (const method of ['list', 'get_allocatable', 'get'] as const) {
      show(`requests_${method}`, `Requests of the method ${method} of the pod resources API.`, this.#requests[method]);
      show(
        `errors_${method}`,
        `Failed requests of the method ${method} of the pod resources API.`,
        this.#errors[method],
      );
    }
  }
}
