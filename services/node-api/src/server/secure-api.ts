import type { NodeConfig } from '@kubus/service-kit';
import type { FastifyInstance } from 'fastify';
import { hostname } from 'node:os';
import { apiServer } from '../auth/api-server.ts';
import type { Guard } from './app.ts';
import { Authentication } from '../auth/authentication.ts';
import { Authorization } from '../auth/authorization.ts';
import type { NodeApiContext, ServerConfig } from '../api-context.ts';
import type { NodeFacts } from '../node-facts.ts';
import { ownPair } from '../tls/pair-files.ts';
import { makeSelfSigned } from '../tls/self-signed.ts';
import { type Listening, listenSecure } from './servers.ts';
import { ServingCertificates } from '../tls/serving-certificates.ts';
import { tlsSettings } from '../tls/tls-settings.ts';

/**
 * The HTTPS API: authentication, authorization, and the serving certificate. Rejects with a ConfigError that names
 * the field, or with an error when it cannot listen.
 *
 * @param createApp creates the routes behind that guard
 */
export async function listenHttps(
  { config, clock, ids, logger, metrics }: Omit<NodeApiContext, 'bus'>,
  server: ServerConfig & { readonly port: number },
  facts: NodeFacts,
  createApp: (guard: Guard) => Promise<FastifyInstance>,
): Promise<Listening> {
  const { address, port, authentication, authorization } = server;
  const settings = tlsSettings(server);
  const cluster = apiServer({ config, clock, logger, metrics }, server);
  const guard: Guard = {
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
  const signed = server.tls === undefined && server.bootstrapTls ? cluster : undefined;
  const pair =
    signed === undefined
      ? (server.tls ?? (await ownPair(server.certDir, () => selfSigned(config, clock.now()))))
      : undefined;
  const { clientCaFile } = authentication;
  const secure = await listenSecure(
    await createApp(guard),
    { address, port },
    { settings, pair, clientCaFile, clock, logger },
  );
  const certificates =
    signed &&
    new ServingCertificates({
      ...{ node: config.node, certDir: server.certDir, client: signed.client, clock, logger, metrics },
      addresses: () => facts.addresses(),
      show: (shown) => secure.show(shown),
      random: () => ids.fraction(),
    });
  facts.onNodeChange(() => certificates?.look());
  return {
    port: secure.port,
    close: async () => {
      await certificates?.stop();
      await cluster?.close();
      await secure.close();
    },
  };
}

function selfSigned({ nodeObject, nodeIps }: NodeConfig, now: number): ReturnType<typeof makeSelfSigned> {
  return makeSelfSigned(nodeObject.hostname ?? hostname(), nodeIps, now);
}
