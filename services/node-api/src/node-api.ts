import type { NodeConfig, ServiceContext } from '@kubus/service-kit';
import type { FastifyInstance } from 'fastify';
import { hostname } from 'node:os';
import { createApp } from './app.ts';
import { Authentication } from './authentication.ts';
import { Authorization } from './authorization.ts';
import { ContainerLogs } from './container-logs.ts';
import { nodeHealthChecks } from './health-checks.ts';
import { NodeFacts } from './node-facts.ts';
import { ownPair } from './pair-files.ts';
import { type Reviewer, reviewer } from './reviewer.ts';
import { makeSelfSigned } from './self-signed.ts';
import { type Listening, listenPlain, listenSecure } from './servers.ts';
import { tlsSettings } from './tls-settings.ts';

export type ServerConfig = NonNullable<NodeConfig['server']>;

export type NodeApiContext = Pick<ServiceContext, 'config' | 'bus' | 'clock' | 'ids' | 'logger'>;

/** Where the servers of the node listen; undefined where there is none. */
export interface NodeApiPorts {
  readonly secure: number;
  readonly readOnly: number | undefined;
  readonly healthz: number | undefined;
}

/** The node's HTTP servers (kubelet behaviour 5). */
export class NodeApi {
  readonly ports: NodeApiPorts;
  readonly #listening: readonly Listening[];
  readonly #logs: ContainerLogs;
  readonly #reviewer: Reviewer | undefined;

  private constructor(
    ports: NodeApiPorts,
    parts: { listening: readonly Listening[]; logs: ContainerLogs; reviewer: Reviewer | undefined },
  ) {
    this.ports = ports;
    this.#listening = parts.listening;
    this.#logs = parts.logs;
    this.#reviewer = parts.reviewer;
  }

  /** Serves as `server` says. Rejects with a ConfigError that names the field, or when it can not listen. */
  static async start(context: NodeApiContext, server: ServerConfig): Promise<NodeApi> {
    const { config, bus, clock, ids, logger } = context;
    const { address, authentication, authorization } = server;
    const settings = tlsSettings(server);
    const judge = reviewer(context, server);
    const facts = await NodeFacts.read(bus);
    const checks = nodeHealthChecks(facts);
    const logs = new ContainerLogs({ facts, bus, clock, ids, logger });
    const guard = {
      authentication: new Authentication({
        settings: authentication,
        client: authentication.webhook ? judge?.requester : undefined,
        ...{ clock, logger },
      }),
      authorization: new Authorization({
        settings: authorization,
        client: authorization.mode === 'Webhook' ? judge?.requester : undefined,
        ...{ node: config.node, clock, logger },
      }),
    };
    const debugging = server.debuggingHandlers ? { logs, configz: server.configz } : undefined;
    const pair = server.tls ?? (await ownPair(server.certDir, () => selfSigned(config, clock.now())));
    const { clientCaFile } = authentication;
    const secure = await listenSecure(
      await createApp({ checks, facts, guard, debugging, logger }),
      { address, port: server.port },
      { settings, pair, clientCaFile, clock, logger },
    );
    const plain = async (port: number, at: string, app: () => Promise<FastifyInstance>) =>
      port === 0 ? undefined : listenPlain(await app(), { address: at, port });
    const readOnly = await plain(server.readOnlyPort, address, () => createApp({ checks, facts, logger }));
    const healthz = await plain(server.healthz.port, server.healthz.address, () => createApp({ checks, logger }));
    const ports = { secure: secure.port, readOnly: readOnly?.port, healthz: healthz?.port };
    logger.info({ address, ...ports }, 'the API of the node is served');
    const listening = [secure, readOnly, healthz].filter((one) => one !== undefined);
    return new NodeApi(ports, { listening, logs, reviewer: judge });
  }

  /** Logs that are being read now. */
  get streams(): number {
    return this.#logs.count;
  }

  /** Ends every connection. */
  async stop(): Promise<void> {
    await this.#reviewer?.close();
    await Promise.all(this.#listening.map((one) => one.close()));
    await this.#logs.settled();
  }
}

function selfSigned({ nodeObject, nodeIps }: NodeConfig, now: number): ReturnType<typeof makeSelfSigned> {
  return makeSelfSigned(nodeObject.hostname ?? hostname(), nodeIps, now);
}
