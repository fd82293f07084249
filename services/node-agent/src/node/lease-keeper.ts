import { formatTime } from '@kubus/bus';
import { KubeError, type KubeRequester, kubePath } from '@kubus/kube';
import { LEASE_NAMESPACE, type Lease, leaseSchema, renewedLease } from '@kubus/node-status';
import type { Clock, Ids, Logger } from '@kubus/ports';
import { Repeater } from './repeater.ts';
import { isChanged, retryOnConflict } from './retry-on-conflict.ts';

/** Fraction of its duration after which the lease is renewed. */
const RENEW_AFTER = 0.25;

export interface LeaseKeeperOptions {
  readonly client: KubeRequester;
  readonly clock: Clock;
  readonly ids: Pick<Ids, 'fraction'>;
  readonly logger: Logger;
  /** The known Node object; undefined: there is none, so no lease either. */
  readonly node: () => { readonly name: string; readonly uid: string } | undefined;
  /** Duration of the lease, in seconds. */
  readonly seconds: number;
  /** Timeout of one request, in milliseconds. */
  readonly timeoutMs: number;
}

/** Keeps the node's lease renewed; the cluster sees by it that the node is alive (behaviour:node-object). */
export class LeaseKeeper {
  readonly #options: LeaseKeeperOptions;
  readonly #path: string;
  readonly #renewal: Repeater;
  #base: Lease | undefined;

  constructor(options: LeaseKeeperOptions & { readonly name: string }) {
    this.#options = options;
    const { name } = options;
    const place = { group: 'coordination.k8s.io', version: 'v1', namespace: LEASE_NAMESPACE, resource: 'leases' };
    this.#path = kubePath({ ...place, name });
    this.#renewal = new Repeater({
      ...options,
      everyMs: options.seconds * 1000 * RENEW_AFTER,
      failed: 'cannot renew the lease',
      act: () => this.#try(),
    });
  }

  stop(): void {
    this.#renewal.stop();
  }

  /** Renews the lease now and periodically: to be called when there is a new Node object. */
  renew(): void {
    this.#renewal.now();
  }

  async #try(): Promise<undefined> {
    let remembered = false;
    await retryOnConflict(
      async () => {
        const node = this.#options.node();
        if (node === undefined) return;
        remembered = this.#base !== undefined;
        try {
          this.#base ??= await this.#read();
          this.#base = await this.#write(node);
        } catch (error) {
          this.#base = undefined;
          throw error;
        }
      },
      // The write would create a deleted lease, which the server refuses with an error of its own.
      (error) => isChanged(error) || (remembered && error.code === 'Rejected'),
    );
  }

  async #read(): Promise<Lease | undefined> {
    try {
      return leaseSchema.parse(await this.#request('GET', this.#path));
    } catch (error) {
      if (error instanceof KubeError && error.reason === 'NotFound') return undefined;
      throw error;
    }
  }

  async #write(node: { readonly name: string; readonly uid: string }): Promise<Lease> {
    const { clock, seconds } = this.#options;
    const lease = renewedLease(this.#base, node, { now: formatTime(clock.now()), seconds });
    const answer =
      this.#base === undefined
        ? this.#request('POST', this.#path.slice(0, this.#path.lastIndexOf('/')), lease)
        : this.#request('PUT', this.#path, lease);
    return leaseSchema.parse(await answer);
  }

  #request(method: 'GET' | 'POST' | 'PUT', path: string, body?: Lease): Promise<unknown> {
    const { client, timeoutMs } = this.#options;
    return client.request({ method, path, body, timeoutMs, unlimited: true });
  }
}
