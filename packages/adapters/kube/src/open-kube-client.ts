import type { Rate } from '@kubus/flow';
import { type Clock, KubusError, type Logger } from '@kubus/ports';
import { KubeClient } from './kube-client.ts';
import type { MetricsSink } from './rest-client-metrics.ts';

/** The API server's part of the node's configuration. */
export interface ApiServerConfig {
  readonly apiServer?: (Rate & { readonly kubeconfig: string }) | undefined;
}

export interface ClientPorts {
  readonly clock: Clock;
  readonly logger: Logger;
  /** Omitted: requests are not counted. */
  readonly metrics?: MetricsSink | undefined;
}

/**
 * A service's access to the API server, once a kubeconfig exists.
 *
 * @throws KubusError when the node belongs to no cluster
 */
export async function openKubeClient(
  { apiServer }: ApiServerConfig,
  service: string,
  ports: ClientPorts & { readonly signal?: AbortSignal },
): Promise<KubeClient> {
  if (apiServer === undefined) {
    throw new KubusError('bad-config', `${service} needs apiServer in the node's configuration`);
  }
  const { kubeconfig, qps, burst } = apiServer;
  return KubeClient.open({ kubeconfig, rate: { qps, burst }, userAgent: `kubus-${service}`, ...ports });
}
