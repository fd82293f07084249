import { type KubeClient, KubeError, type KubeWatcher, openKubeClient } from '@kubus/kube';
import { toError } from '@kubus/ports';
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
  { config, clock, logger }: Pick<ServiceContext, 'config' | 'clock' | 'logger'>,
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
  const ended = new AbortController();
  let opened: KubeClient | undefined;
  openKubeClient(config, 'node-api', { clock, logger, signal: ended.signal }).then(
    (client) => {
      opened = client;
    },
    (error: unknown) => {
      if (!ended.signal.aborted) logger.error({ err: toError(error) }, 'the API server can not be asked anything');
    },
  );
  const client = () => {
    if (opened === undefined) throw new KubeError('Unreachable', 'the kubeconfig is not there yet');
    return opened;
  };
  return {
    client: {
      request: async (request) => client().request(request),
      watch: async (watch) => client().watch(watch),
    },
    close: async () => {
      ended.abort();
      await opened?.close();
    },
  };
}
