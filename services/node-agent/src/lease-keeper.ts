import { formatTime } from '@kubus/bus';
import { KubeError, type KubeRequester, kubePath } from '@kubus/kube';
import { LEASE_NAMESPACE, type Lease, leaseSchema, renewedLease } from '@kubus/node-status';
import type { Clock, Ids, Logger } from '@kubus/ports';
import { Repeater } from './repeater.ts';

/** What part of its duration passes before the lease is renewed. */
const RENEW_AFTER = 0.25;
/** Tries of one renewal that others have got in the way of. */
const TRIES = 5;
/** Somebody else has written, made or deleted the lease: what it is like now has to be read. */
const CHANGED = ['Conflict', 'NotFound', 'AlreadyExists'];

export interface LeaseKeeperOptions {
  readonly client: KubeRequester;
  readonly clock: Clock;
  readonly ids: Pick<Ids, 'fraction'>;
  readonly logger: Logger;
  /** The Node as it is known; undefined: there is none, and no lease. */
  readonly node: () => { readonly name: string; readonly uid: string } | undefined;
  /** How long the lease holds. */
  readonly seconds: number;
  /** Milliseconds that one request may take. */
  readonly timeoutMs: number;
}

/** Keeps the node's lease: the sign of life by which the cluster knows that the node is there (kubelet behaviour 1.16). */
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
      failed: 'the lease could not be renewed',
      act: () => this.#try(),
    });
  }

  stop(): void {
    this.#renewal.stop();
  }

  /** Renews the lease now, and then again and again: to be called when there is a Node, also one that was made anew. */
  renew(): void {
    this.#renewal.now();
  }

  async #try(): Promise<undefined> {
    for (let left = TRIES; ; left--) {
      const node = this.#options.node();
      if (node === undefined) return;
      const remembered = this.#base !== undefined;
      try {
        this.#base ??= await this.#read();
        this.#base = await this.#write(node);
        return;
      } catch (error) {
        this.#base = undefined;
        if (left === 1 || !(error instanceof KubeError)) throw error;
        // A lease that is gone would be made by the write, which the server refuses as an error of its own.
        const mayBeGone = remembered && error.code === 'Rejected';
        if (!mayBeGone && !CHANGED.includes(error.reason ?? '')) throw error;
      }
    }
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
