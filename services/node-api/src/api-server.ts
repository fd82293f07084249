import { KubeLink, type KubeWatcher } from '@kubus/kube';
import { ConfigError, type NodeConfig, type ServiceContext } from '@kubus/service-kit';

/** The way to the API server: it judges users, and has certificates signed. */
export interface ApiServer {
  readonly client: KubeWatcher;
  close(): Promise<void>;
}

/**
 * The API server, where the configuration needs it; undefined where it does not.
 *
 * Throws a ConfigError when there is none to ask.
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
    throw new ConfigError('bad-config', `server.${needs[0]}: there is no apiServer that could be asked`);
  }
  const link = new KubeLink(config, 'node-api', { clock, logger, metrics });
  return {
    // Whoever asks something of the node is not kept waiting for a kubeconfig.
    client: {
      request: async (request) => link.current.request(request),
      watch: async (watch) => link.current.watch(watch),
    },
    close: () => link.close(),
  };
}
