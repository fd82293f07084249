import { toError } from '@kubus/ports';
import type { KubeClient, KubeRequest, KubeWatch, KubeWatcher } from './kube-client.ts';
import { KubeError } from './kube-error.ts';
import { type ApiServerConfig, type ClientPorts, openKubeClient } from './open-kube-client.ts';

/**
 * A service's access to the API server, available at once: its kubeconfig may still have to be created. Until it exists,
 * requests and watches wait; {@link current} does not.
 */
export class KubeLink implements KubeWatcher {
  readonly #ended = new AbortController();
  readonly #opened: Promise<KubeClient>;
  #client: KubeClient | undefined;

  constructor(config: ApiServerConfig, service: string, ports: ClientPorts) {
    this.#opened = openKubeClient(config, service, { ...ports, signal: this.#ended.signal });
    this.#opened.then(
      (client) => (this.#client = client),
      (error: unknown) => {
        const closed = this.#ended.signal.aborted;
        if (!closed) ports.logger.error({ err: toError(error) }, 'the API server cannot be reached');
      },
    );
  }

  /** The kubeconfig exists. */
  get isOpen(): boolean {
    return this.#client !== undefined;
  }

  /** For callers that cannot wait. Throws KubeError `Unreachable` while there is no kubeconfig. */
  get current(): KubeClient {
    if (this.#client === undefined) throw new KubeError('Unreachable', 'the kubeconfig does not exist yet');
    return this.#client;
  }

  async request(request: KubeRequest): Promise<unknown> {
    return (await this.#opened).request(request);
  }

  async watch(watch: KubeWatch): Promise<void> {
    return (await this.#opened).watch(watch);
  }

  /** Ends all requests and watches, and the wait for a kubeconfig. */
  async close(): Promise<void> {
    this.#ended.abort();
    await this.#opened.then(
      (client) => client.close(),
      () => undefined,
    );
  }
}
