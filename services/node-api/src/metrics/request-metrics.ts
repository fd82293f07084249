import { DEFAULT_BUCKETS, Distribution, Tally } from '@kubus/metrics';
import type { Clock } from '@kubus/ports';
import type { Metrics } from '@kubus/service-kit';
import type { FastifyInstance } from 'fastify';
import { METHODS } from 'node:http';
import { isUpgrade } from '../server/upgrades.ts';

/** Path prefixes under which requests are counted; everything else is `other` (of the reference). */
const PATHS: ReadonlySet<string> = new Set([
  ...['healthz', 'pods', 'stats', 'metrics', 'metrics/cadvisor', 'metrics/probes', 'metrics/resource', 'run', 'exec'],
  ...['attach', 'portForward', 'containerLogs', 'configz', 'runningpods', 'checkpoint', 'pprof', 'logs', 'debug'],
  ...['statusz', 'flagz'],
]);

/** The requests that the reference counts as long-running. Port forwarding is missing by a mistake of the reference, which is kept. */
const LONG_RUNNING: ReadonlySet<string> = new Set(['exec', 'attach', 'debug']);

const WEBSOCKETS: Readonly<Record<string, string>> = { exec: 'exec', attach: 'attach', portForward: 'portforward' };

/** The reference's path under which a request is counted; `path` may have a query. */
export function countedPath(path: string): string {
  const [first = '', second] = path.replace(/\?.*$/s, '').replace(/^\//, '').split('/', 3);
  const found = first === 'metrics' && second !== undefined ? `${first}/${second}` : first;
  return PATHS.has(found) ? found : 'other';
}

/** The requests to the node's API, as the reference counts them (behaviour:agent-metrics). */
export class RequestMetrics {
  readonly #clock: Clock;
  readonly #total = new Tally();
  readonly #seconds = new Distribution(DEFAULT_BUCKETS);
  readonly #inFlight = new Tally();
  readonly #websockets = new Tally(...Object.values(WEBSOCKETS).map((subresource) => ({ subresource })));

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** A request has arrived; call the returned function at its end. */
  begin(given: { method: string; path: string; server: 'readonly' | 'readwrite' }): () => void {
    const path = countedPath(given.path);
    const method = METHODS.includes(given.method) ? given.method : 'other';
    const labels = { method, path, server_type: given.server, long_running: String(LONG_RUNNING.has(path)) };
    const began = this.#clock.now();
    this.#total.add(labels);
    this.#inFlight.add(labels);
    return () => {
      this.#inFlight.add(labels, -1);
      this.#seconds.observe(labels, (this.#clock.now() - began) / 1000);
    };
  }

  /** A client requests WebSocket on the connection. */
  websocket(path: string): void {
    const subresource = WEBSOCKETS[countedPath(path)];
    if (subresource !== undefined) this.#websockets.add({ subresource });
  }

  show(metrics: Metrics): void {
    metrics.add({
      type: 'counter',
      name: 'kubelet_http_requests_total',
      help: 'Requests to the API of the node since its start.',
      collect: () => this.#total.samples,
    });
    metrics.add({
      type: 'histogram',
      name: 'kubelet_http_requests_duration_seconds',
      help: 'How long requests to the API of the node took, in seconds.',
      values: this.#seconds,
    });
    metrics.add({
      type: 'gauge',
      name: 'kubelet_http_inflight_requests',
      help: 'Requests to the API of the node that are being served.',
      collect: () => this.#inFlight.samples,
    });
    metrics.add({
      type: 'counter',
      name: 'kubelet_websocket_streaming_requests_total',
      help: 'Requests for streams over WebSocket.',
      collect: () => this.#websockets.samples,
    });
  }
}

/** Counts all requests of a server, refused ones too. Must be called before any other handler is added. */
export function observeRequests(
  app: FastifyInstance,
  requests: RequestMetrics,
  server: 'readonly' | 'readwrite',
): void {
  app.addHook('onRequest', (request, reply, done) => {
    const ended = requests.begin({ method: request.method, path: request.url, server });
    // The answer to an upgrade may be dropped in favor of what follows it on the connection.
    (isUpgrade(request.raw) ? request.raw.socket : reply.raw).once('close', ended);
    done();
  });
  app.addHook('preHandler', (request, _reply, done) => {
    const isWebSocket = request.headers.upgrade?.toLowerCase() === 'websocket';
    if (isWebSocket && isUpgrade(request.raw)) requests.websocket(request.url);
    done();
  });
}
