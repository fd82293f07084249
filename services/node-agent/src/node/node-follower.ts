import type { Bus, Cause, FactOwner } from '@kubus/bus';
import { type ClusterNode, clusterNode } from '@kubus/contracts';
import { type KubeWatcher, Reflector, kubePath } from '@kubus/kube';
import { type NodeObject, clusterNodeOf, isNewer, nodeObjectSchema } from '@kubus/node-status';
import type { Clock, Ids, Logger } from '@kubus/ports';

export const NODES = kubePath({ version: 'v1', resource: 'nodes' });

export interface NodeFollowerOptions {
  readonly client: KubeWatcher;
  readonly bus: Bus;
  readonly clock: Clock;
  readonly ids: Pick<Ids, 'fraction'>;
  readonly logger: Logger;
  readonly name: string;
  readonly listener: {
    /** Called with a newer Node object. */
    changed(node: NodeObject, before: NodeObject | undefined): void;
    /** Called when there is no Node object. */
    removed(): void;
  };
}

/** Follows the node's object on the API server and publishes it at once. */
export class NodeFollower {
  readonly #options: NodeFollowerOptions;
  readonly #fact: FactOwner<ClusterNode>;
  readonly #reflector: Reflector<NodeObject>;
  #node: NodeObject | undefined;
  #published: Cause | undefined;
  #listed = false;

  constructor(options: NodeFollowerOptions) {
    const { bus, client, clock, ids, logger, name } = options;
    this.#options = options;
    this.#fact = bus.owner(clusterNode);
    this.#reflector = new Reflector({
      ...{ client, clock, logger, path: NODES, query: { fieldSelector: `metadata.name=${name}` } },
      random: () => ids.fraction(),
      parse: (object) => nodeObjectSchema.parse(object),
      listener: {
        replaced: ([node], resourceVersion) => this.#replaced(node, resourceVersion),
        changed: (node) => this.take(node),
        removed: ({ metadata }) => this.lost(metadata.resourceVersion),
      },
    });
  }

  /** The newest Node object; undefined: there is none, or none has been received yet. */
  get node(): NodeObject | undefined {
    return this.#node;
  }

  /** The message that last published the Node object; undefined: none has. */
  get published(): Cause | undefined {
    return this.#published;
  }

  /** Whether it is known if there is a Node object. */
  get isListed(): boolean {
    return this.#listed;
  }

  start(): void {
    this.#reflector.start();
  }

  stop(): void {
    this.#reflector.stop();
  }

  /** Takes a Node object from an answer of the API server. One that is older than the known one is ignored. */
  take(node: NodeObject): void {
    const before = this.#node;
    if (before !== undefined && !isNewer(node.metadata.resourceVersion, before.metadata.resourceVersion)) return;
    this.#node = node;
    this.#published = this.#fact.put(node.metadata.name, clusterNodeOf(node));
    this.#options.listener.changed(node, before);
  }

  /** The Node object was deleted at this version; default: now. */
  lost(resourceVersion?: string): void {
    const known = this.#node?.metadata.resourceVersion;
    if (known === undefined || (resourceVersion !== undefined && isNewer(known, resourceVersion))) return;
    this.#node = undefined;
    this.#fact.remove(this.#options.name);
    this.#options.listener.removed();
  }

  #replaced(node: NodeObject | undefined, resourceVersion: string): void {
    const first = !this.#listed;
    this.#listed = true;
    if (node !== undefined) this.take(node);
    else if (this.#node !== undefined) this.lost(resourceVersion);
    else this.#options.listener.removed();
    if (first) this.#fact.complete();
  }
}
