import { type KubeClient, KubeError, type KubeRequester, openKubeClient } from '@kubus/kube';
import { toError } from '@kubus/ports';
import { ConfigError, type NodeConfig, type ServiceContext } from '@kubus/service-kit';

/** Who is asked about credentials and permissions. */
export interface Reviewer {
  readonly requester: KubeRequester;
  close(): Promise<void>;
}

/**
 * The API server as the judge of users, where the configuration wants it to be that; undefined where it does not.
 *
 * Throws a ConfigError when nobody could be asked.
 */
export function reviewer(
  { config, clock, logger }: Pick<ServiceContext, 'config' | 'clock' | 'logger'>,
  { authentication, authorization }: NonNullable<NodeConfig['server']>,
): Reviewer | undefined {
  const needs = [
    ...(authentication.webhook ? ['authentication.webhook'] : []),
    ...(authorization.mode === 'Webhook' ? ['authorization.mode'] : []),
  ];
  if (needs[0] === undefined) return undefined;
  if (config.apiServer === undefined) {
    throw new ConfigError('bad-config', `server.${needs[0]}: there is no apiServer that could be asked`);
  }
  const ended = new AbortController();
  let client: KubeClient | undefined;
  openKubeClient(config, 'node-api', { clock, logger, signal: ended.signal }).then(
    (opened) => {
      client = opened;
    },
    (error: unknown) => {
      if (!ended.signal.aborted) logger.error({ err: toError(error) }, 'nobody can be asked who may do what');
    },
  );
  return {
    requester: {
      request: async (request) => {
        if (client === undefined) throw new KubeError('Unreachable', 'the kubeconfig is not there yet');
        return client.request(request);
      },
    },
    close: async () => {
      ended.abort();
      await client?.close();
    },
  };
}
