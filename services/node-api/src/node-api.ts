import type { NodeConfig, ServiceContext } from '@kubus/service-kit';
import type { FastifyInstance } from 'fastify';
import { join } from 'node:path';
import { type Guard, createApp } from './app.ts';
import { ContainerCalls } from './container-calls.ts';
import { ContainerLogs } from './container-logs.ts';
import { ContainerStreams } from './container-streams.ts';
import { DeviceFacts } from './device-facts.ts';
import { nodeHealthChecks } from './health-checks.ts';
import { LogLevel } from './log-level.ts';
import { NodeFacts } from './node-facts.ts';
import { listenPodResources } from './pod-resources-socket.ts';
import { NodeMetrics } from './node-metrics.ts';
import { NodeStatistics } from './node-statistics.ts';
import { listenOwners, ownersGuard } from './owner-socket.ts';
import { listenHttps } from './secure-api.ts';
import { type Listening, listenPlain } from './servers.ts';

export type ServerConfig = NonNullable<NodeConfig['server']>;

export type NodeApiContext = Pick<ServiceContext, 'config' | 'bus' | 'clock' | 'ids' | 'logger' | 'metrics'>;

/** Where the servers of the node listen; undefined where there is none. */
export interface NodeApiPorts {
  /** 0 where there is none. */
  readonly secure: number;
  readonly readOnly: number | undefined;
  readonly healthz: number | undefined;
}

/** The node's HTTP servers (kubelet behaviour 5). */
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

  /** Serves as `server` says. Rejects with a ConfigError that names the field, or when it can not listen. */
  static async start(context: NodeApiContext, server: ServerConfig): Promise<NodeApi> {
    const { config, bus, clock, ids, logger } = context;
    const { socket, address, port } = server;
    const facts = await NodeFacts.read(bus);
    const checks = nodeHealthChecks(facts);
    const metrics = new NodeMetrics({ bus, facts, own: context.metrics, clock, logger });
    const statistics = await NodeStatistics.start({ config, bus, facts, clock, logger });
    const logs = new ContainerLogs({ facts, bus, clock, ids, logger });
    const { streamIdleMs: idleMs, streamRelay: relay } = server;
    const streams = new ContainerStreams({ facts, bus, ids, logger, idleMs, relay });
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
    logger.info({ address, ...ports, socket }, 'the API of the node is served');
    const listening = [secure, owners, readOnly, healthz, podResources].filter((one) => one !== undefined);
    return new NodeApi(ports, { listening, logs, streams, statistics });
  }

  /** Logs that are being read now, and connections with containers. */
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
