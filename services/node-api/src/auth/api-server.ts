import { KubeLink, type KubeWatcher } from '@kubus/kube';
import { ConfigError, type NodeConfig, type ServiceContext } from '@kubus/service-kit';

/** The connection to the API server, which reviews users and signs certificates. */
export interface ApiServer {
  readonly client: KubeWatcher;
  close(): Promise<void>;
}

/**
 * The API server, where the configuration needs it; undefined where it does not.
 *
 * Throws a ConfigError when the configuration needs an API server and names none.
 */
export function apiServer(
  { config, clock, logger, metrics }: Pick<ServiceContext, 'config' | 'clock' | 'logger' | 'metrics'>,
  { authentication, authorization, bootstrapTls, tls }: NonNullable<NodeConfig['server']>,
): ApiServer | undefined {
  const needs = [
    ...(authentication.webhook ? ['authentication.webhook'] : []),
    ...(authorization.mode === 'Webhook' ? ['authorization.mode'] : []),
    ...(bootstrapTls && tls === undefined ? ['bootstrapTls'] : []),
  ];
  if (needs[0] === undefined) return undefined;
  if (config.apiServer === undefined) {
    throw new ConfigError('bad-config', `server.${needs[0]}: needs apiServer, which is not configured`);
  }
  const link = new KubeLink(config, 'node-api', { clock, logger, metrics });
  return {
    // A request to the node does not wait for a kubeconfig to appear.
    client: {
      request: async (request) => link.current.request(request),
      watch: async (watch) => link.current.watch(watch),
    },
    close: () => link.close(),
  };
}
