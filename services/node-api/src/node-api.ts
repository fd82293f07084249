import { NodeStatistics } from '@kubus/node-usage';
import type { FastifyInstance } from 'fastify';
import { join } from 'node:path';
import { type Guard, createApp } from './server/app.ts';
import { ContainerCalls } from './calls/container-calls.ts';
import { ContainerLogs } from './logs/container-logs.ts';
import { ContainerStreams } from './streams/container-streams.ts';
import { DeviceFacts } from './pod-resources/device-facts.ts';
import { nodeHealthChecks } from './health/health-checks.ts';
import { LogLevel } from './debug/log-level.ts';
import type { NodeApiContext, ServerConfig } from './api-context.ts';
import { NodeFacts } from './node-facts.ts';
import { listenPodResources } from './pod-resources/pod-resources-socket.ts';
import { NodeMetrics } from './metrics/node-metrics.ts';
import { listenOwners, ownersGuard } from './server/owner-socket.ts';
import { listenHttps } from './server/secure-api.ts';
import { type Listening, listenPlain } from './server/servers.ts';

/** The addresses of the node's servers; undefined for a server that does not exist. */
export interface NodeApiPorts {
  /** 0 for a server that does not exist. */
  readonly secure: number;
  readonly readOnly: number | undefined;
  readonly healthz: number | undefined;
}

/** The node's HTTP servers (behaviour:http-api). */
export class NodeApi {
  readonly ports: NodeApiPorts;
  readonly #listening: readonly Pick<Listening, 'close'>[];
  readonly #logs: ContainerLogs;
  readonly #streams: ContainerStreams;
  readonly #statistics: NodeStatistics;

  private constructor(
    ports: NodeApiPorts,
    parts: {
      listening: readonly Pick<Listening, 'close'>[];
      logs: ContainerLogs;
      streams: ContainerStreams;
      statistics: NodeStatistics;
    },
  ) {
    this.ports = ports;
    this.#listening = parts.listening;
    this.#logs = parts.logs;
    this.#streams = parts.streams;
    this.#statistics = parts.statistics;
  }

  /**
   * Serves as `server` configures. Rejects with a ConfigError that names the field, or with an error when it cannot
   * listen.
   */
  static async start(context: NodeApiContext, server: ServerConfig): Promise<NodeApi> {
    const { config, bus, clock, ids, logger } = context;
    const { socket, address, port } = server;
    const facts = await NodeFacts.read(bus);
    const checks = nodeHealthChecks(facts);
    const metrics = new NodeMetrics({ bus, facts, own: context.metrics, clock, logger });
    const statistics = await NodeStatistics.start({ config, bus, pods: () => facts.runtimePods(), clock, logger });
    const logs = new ContainerLogs({ facts, bus, clock, ids, logger });
    const { streamIdleMs: idleMs, streamLingerMs: lingerMs, streamRelay: relay } = server;
    const streams = new ContainerStreams({ facts, bus, ids, logger, idleMs, lingerMs, relay });
    const calls = new ContainerCalls({ facts, bus, clock, checkpoints: join(config.pods.root, 'checkpoints') });
    const { debugFlags, profiling, configz, flagz } = server;
    const systemLogs =
      server.systemLogs === undefined ? undefined : { folder: server.systemLogs, queries: server.systemLogQuery };
    const level = new LogLevel(bus);
    const logLevel = debugFlags ? level : undefined;
    const debug = { startedAt: clock.now(), now: () => clock.now(), flagz, logLevel, profiling };
    const debugging = server.debuggingHandlers ? { logs, streams, calls, systemLogs, debug, configz } : undefined;
    const guarded = (guard: Guard) => createApp({ checks, facts, metrics, statistics, guard, debugging, logger });
    const secure = port === undefined ? undefined : await listenHttps(context, { ...server, port }, facts, guarded);
    const owners = socket === undefined ? undefined : await listenOwners(await guarded(ownersGuard), socket);
    const plain = async (port: number, at: string, app: () => Promise<FastifyInstance>) =>
      port === 0 ? undefined : listenPlain(await app(), { address: at, port });
    const readOnly = await plain(server.readOnlyPort, address, () =>
      createApp({ checks, facts, metrics, statistics, logger }),
    );
    const healthz = await plain(server.healthz.port, server.healthz.address, () => createApp({ checks, logger }));
    const podResources = await listenPodResources(join(context.config.pods.root, 'pod-resources', 'kubelet.sock'), {
      ...{ facts, devices: new DeviceFacts(bus), metrics: context.metrics, clock, logger },
    });
    const ports = { secure: secure?.port ?? 0, readOnly: readOnly?.port, healthz: healthz?.port };
    logger.info({ address, ...ports, socket }, 'serving the node API');
    const listening = [secure, owners, readOnly, healthz, podResources].filter((one) => one !== undefined);
    return new NodeApi(ports, { listening, logs, streams, statistics });
  }

  /** The number of logs that are being read and of connections with containers. */
  get streams(): number {
    return this.#logs.count + this.#streams.count;
  }

  /** Ends every connection. */
  async stop(): Promise<void> {
    await this.#streams.stop();
    await Promise.all(this.#listening.map((one) => one.close()));
    await this.#logs.settled();
    await this.#statistics.stop();
  }
}
