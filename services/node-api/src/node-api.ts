import type { NodeConfig, ServiceContext } from '@kubus/service-kit';
import type { FastifyInstance } from 'fastify';
import { hostname } from 'node:os';
import { type ApiServer, apiServer } from './api-server.ts';
import { createApp } from './app.ts';
import { Authentication } from './authentication.ts';
import { Authorization } from './authorization.ts';
import { ContainerLogs } from './container-logs.ts';
import { nodeHealthChecks } from './health-checks.ts';
import { NodeFacts } from './node-facts.ts';
import { ownPair } from './pair-files.ts';
import { makeSelfSigned } from './self-signed.ts';
import { type Listening, listenPlain, listenSecure } from './servers.ts';
import { ServingCertificates } from './serving-certificates.ts';
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
  readonly #cluster: ApiServer | undefined;
  readonly #certificates: ServingCertificates | undefined;

  private constructor(
    ports: NodeApiPorts,
    parts: {
      listening: readonly Listening[];
      logs: ContainerLogs;
      cluster: ApiServer | undefined;
      certificates: ServingCertificates | undefined;
    },
  ) {
    this.ports = ports;
    this.#listening = parts.listening;
    this.#logs = parts.logs;
    this.#cluster = parts.cluster;
    this.#certificates = parts.certificates;
  }

  /** Serves as `server` says. Rejects with a ConfigError that names the field, or when it can not listen. */
  static async start(context: NodeApiContext, server: ServerConfig): Promise<NodeApi> {
    const { config, bus, clock, ids, logger } = context;
    const { address, authentication, authorization } = server;
    const settings = tlsSettings(server);
    const cluster = apiServer(context, server);
    const facts = await NodeFacts.read(bus);
    const checks = nodeHealthChecks(facts);
    const logs = new ContainerLogs({ facts, bus, clock, ids, logger });
    const guard = {
      authentication: new Authentication({
        settings: authentication,
        client: authentication.webhook ? cluster?.client : undefined,
        ...{ clock, logger },
      }),
      authorization: new Authorization({
        settings: authorization,
        client: authorization.mode === 'Webhook' ? cluster?.client : undefined,
        ...{ node: config.node, clock, logger },
      }),
    };
    const debugging = server.debuggingHandlers ? { logs, configz: server.configz } : undefined;
    const signed = server.tls === undefined && server.bootstrapTls ? cluster : undefined;
    const pair =
      signed === undefined
        ? (server.tls ?? (await ownPair(server.certDir, () => selfSigned(config, clock.now()))))
        : undefined;
    const { clientCaFile } = authentication;
    const secure = await listenSecure(
      await createApp({ checks, facts, guard, debugging, logger }),
      { address, port: server.port },
      { settings, pair, clientCaFile, clock, logger },
    );
    const certificates =
      signed &&
      new ServingCertificates({
        ...{ node: config.node, certDir: server.certDir, client: signed.client, clock, logger },
        addresses: () => facts.addresses(),
        show: (shown) => secure.show(shown),
        random: () => ids.fraction(),
      });
    facts.onNodeChange(() => certificates?.look());
    const plain = async (port: number, at: string, app: () => Promise<FastifyInstance>) =>
      port === 0 ? undefined : listenPlain(await app(), { address: at, port });
    const readOnly = await plain(server.readOnlyPort, address, () => createApp({ checks, facts, logger }));
    const healthz = await plain(server.healthz.port, server.healthz.address, () => createApp({ checks, logger }));
    const ports = { secure: secure.port, readOnly: readOnly?.port, healthz: healthz?.port };
    logger.info({ address, ...ports }, 'the API of the node is served');
    const listening = [secure, readOnly, healthz].filter((one) => one !== undefined);
    return new NodeApi(ports, { listening, logs, cluster, certificates });
  }

  /** Logs that are being read now. */
  get streams(): number {
    return this.#logs.count;
  }

  /** Ends every connection. */
  async stop(): Promise<void> {
    await this.#certificates?.stop();
    await this.#cluster?.close();
    await Promise.all(this.#listening.map((one) => one.close()));
    await this.#logs.settled();
  }
}

function selfSigned({ nodeObject, nodeIps }: NodeConfig, now: number): ReturnType<typeof makeSelfSigned> {
  return makeSelfSigned(nodeObject.hostname ?? hostname(), nodeIps, now);
}
