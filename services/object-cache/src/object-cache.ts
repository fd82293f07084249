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
import { type PodDemand, demandOf } from '@kubus/object-demand';
import type { Clock, Ids, Logger } from '@kubus/ports';
import { FollowedObjects } from './followed-objects.ts';
import { ObjectServer } from './object-server.ts';
import { runtimeClassesOf } from './runtime-classes.ts';
import { ServiceAccounts } from './service-accounts.ts';
import { ServicesByNamespace } from './services-by-namespace.ts';
import { Storage } from './storage.ts';
import { Tokens } from './tokens.ts';
import type { ToldCollection } from './told-collection.ts';
import { trustBundlesOf } from './trust-bundles.ts';

export interface ObjectCacheOptions {
  readonly bus: Bus;
  readonly client: KubeWatcher;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly logger: Logger;
  /** Path of the socket on which values are given out. */
  readonly socket: string;
}

/**
 * What the pods of the node need of the API server. It follows what they refer to and tells how it stands; what is in it,
 * and their tokens, it holds in memory and gives out on a socket (DESIGN rule 10).
 */
export class ObjectCache {
  readonly #objects: FollowedObjects;
  readonly #storage: Storage;
  readonly #services: ServicesByNamespace;
  readonly #tokens: Tokens;
  readonly #trustBundles: ToldCollection<TrustBundle>;
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
    // Who hears of an object reads it at once, so the socket is there before anything is told.
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

  /** What it waits for, if it does. */
  get problem(): string | undefined {
    return this.#services.read ? undefined : 'the API server has not been read yet';
  }

  /** Objects that are followed, and claims; of how many of the objects nothing is known yet; tokens that are kept. */
  get count(): { readonly objects: number; readonly unread: number; readonly claims: number; readonly tokens: number } {
    const { all, unread } = this.#objects.count;
    return { objects: all, unread, claims: this.#storage.count.all, tokens: this.#tokens.count };
  }

  /** Ends everything. What was told stays. */
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
