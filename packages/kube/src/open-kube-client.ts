import type { Rate } from '@kubus/event-correlator';
import { type Clock, KubusError, type Logger } from '@kubus/ports';
import { KubeClient } from './kube-client.ts';
import type { MetricsSink } from './rest-client-metrics.ts';

/** What the node's configuration says of the API server. */
export interface ApiServerConfig {
  readonly apiServer?: (Rate & { readonly kubeconfig: string }) | undefined;
}

export interface ClientPorts {
  readonly clock: Clock;
  readonly logger: Logger;
  /** Left out: requests are not counted. */
  readonly metrics?: MetricsSink | undefined;
}

/**
 * A service's way to the API server, once there is a kubeconfig.
 *
 * @throws KubusError when the node is a member of no cluster
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
