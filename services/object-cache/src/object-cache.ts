import type { Bus } from '@kubus/bus';
import {
  type PodWork,
  type TrustBundle,
  cachedObject,
  namespaceServices,
  podWork,
  runtimeClass,
  trustBundle,
} from '@kubus/contracts';
import type { KubeWatcher } from '@kubus/kube';
import type { Clock, Ids, Logger } from '@kubus/ports';
import { type PodDemand, demandOf } from '@kubus/volume';
import { FollowedObjects } from './objects/followed-objects.ts';
import { ObjectServer } from './objects/object-server.ts';
import { runtimeClassesOf } from './cluster/runtime-classes.ts';
import { ServiceAccounts } from './accounts/service-accounts.ts';
import { ServicesByNamespace } from './cluster/services-by-namespace.ts';
import { Storage } from './storage/storage.ts';
import { Tokens } from './accounts/tokens.ts';
import type { PublishedCollection } from './follow/published-collection.ts';
import { trustBundlesOf } from './cluster/trust-bundles.ts';

export interface ObjectCacheOptions {
  readonly bus: Bus;
  readonly client: KubeWatcher;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly logger: Logger;
  /** Path of the socket that serves values. */
  readonly socket: string;
}

/**
 * What the pods of the node need from the API server: follows the objects that they refer to and publishes their
 * state; keeps values and tokens in memory and serves them on a socket (rule:secrets).
 */
export class ObjectCache {
  readonly #objects: FollowedObjects;
  readonly #storage: Storage;
  readonly #services: ServicesByNamespace;
  readonly #tokens: Tokens;
  readonly #trustBundles: PublishedCollection<TrustBundle>;
  readonly #serviceAccounts: ServiceAccounts;
  readonly #ends: (() => Promise<void> | void)[] = [];

  static async start(options: ObjectCacheOptions): Promise<ObjectCache> {
    const cache = new ObjectCache(options);
    const server = await ObjectServer.open(options.socket, {
      objects: cache.#objects,
      tokens: cache.#tokens,
      serviceAccounts: cache.#serviceAccounts,
      logger: options.logger,
    });
    cache.#ends.push(() => server.close());
    // Readers of a fact read the object at once, so the socket has to exist before any fact is published.
    cache.#listen(options.bus);
    return cache;
  }

  private constructor({ bus, client, clock, ids, logger }: ObjectCacheOptions) {
    const random = () => ids.fraction();
    const reader = { client, clock, logger, random };
    this.#objects = new FollowedObjects(reader, bus.owner(cachedObject));
    this.#services = new ServicesByNamespace(reader, bus.owner(namespaceServices));
    this.#trustBundles = trustBundlesOf(reader, bus.owner(trustBundle));
    this.#tokens = new Tokens({ client, clock, logger, random });
    this.#serviceAccounts = new ServiceAccounts(client);
    this.#storage = new Storage(bus, reader, this.#objects);
    const classes = runtimeClassesOf(reader, bus.owner(runtimeClass));
    classes.need();
    this.#ends.push(
      () => classes.stop(),
      () => this.#trustBundles.stop(),
      () => this.#services.stop(),
      () => this.#storage.stop(),
      () => this.#objects.stop(),
    );
  }

  /** What it waits for, for the service's health; undefined when nothing. */
  get problem(): string | undefined {
    return this.#services.read ? undefined : 'the API server has not been read yet';
  }

  /** Numbers of followed objects and claims, of objects not read yet, and of kept tokens. */
  get count(): { readonly objects: number; readonly unread: number; readonly claims: number; readonly tokens: number } {
    const { all, unread } = this.#objects.count;
    return { objects: all, unread, claims: this.#storage.count.all, tokens: this.#tokens.count };
  }

  /** Ends everything. Published facts stay. */
  async stop(): Promise<void> {
    for (const end of this.#ends) await end();
  }

  #listen(bus: Bus): void {
    bus.reader<PodWork>(podWork, {
      changed: ({ key, value }) => this.#need(key, demandOf(value)),
      removed: ({ key }) => this.#need(key, undefined),
      complete: () => {
        this.#storage.podsKnown();
        this.#services.podsKnown();
      },
    });
  }

  #need(pod: string, demand: PodDemand | undefined): void {
    this.#objects.set(pod, demand?.objects ?? new Map());
    this.#storage.set(pod, demand);
    this.#services.set(pod, demand?.serviceNamespaces ?? []);
    this.#tokens.set(pod, demand?.holder);
    if (demand?.trustBundles === true) this.#trustBundles.need();
    if (demand?.holder === undefined) this.#serviceAccounts.keepOnly((account) => this.#tokens.isHeld(account));
  }
}
