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
    /** There is a newer Node than before. */
    taken(node: NodeObject, before: NodeObject | undefined): void;
    /** There is no Node. */
    gone(): void;
  };
}

/** Knows the node's object as the API server has it, and tells the others of it at once. */
export class NodeFollower {
  readonly #options: NodeFollowerOptions;
  readonly #fact: FactOwner<ClusterNode>;
  readonly #reflector: Reflector<NodeObject>;
  #node: NodeObject | undefined;
  #said: Cause | undefined;
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

  /** The Node as it was heard of last; undefined: there is none, or nothing has been heard yet. */
  get node(): NodeObject | undefined {
    return this.#node;
  }

  /** The message that told the others of the Node last; undefined: none has. */
  get said(): Cause | undefined {
    return this.#said;
  }

  /** It is known whether there is a Node. */
  get isListed(): boolean {
    return this.#listed;
  }

  start(): void {
    this.#reflector.start();
  }

  stop(): void {
    this.#reflector.stop();
  }

  /** Takes a Node that the API server has given. One that is older than what is known comes late, and says nothing. */
  take(node: NodeObject): void {
    const before = this.#node;
    if (before !== undefined && !isNewer(node.metadata.resourceVersion, before.metadata.resourceVersion)) return;
    this.#node = node;
    this.#said = this.#fact.put(node.metadata.name, clusterNodeOf(node));
    this.#options.listener.taken(node, before);
  }

  /** There was no Node any more at this version; left out: now. */
  lost(resourceVersion?: string): void {
    const known = this.#node?.metadata.resourceVersion;
    if (known === undefined || (resourceVersion !== undefined && isNewer(known, resourceVersion))) return;
    this.#node = undefined;
    this.#fact.remove(this.#options.name);
    this.#options.listener.gone();
  }

  #replaced(node: NodeObject | undefined, resourceVersion: string): void {
    const first = !this.#listed;
    this.#listed = true;
    if (node !== undefined) this.take(node);
    else if (this.#node !== undefined) this.lost(resourceVersion);
    else this.#options.listener.gone();
    if (first) this.#fact.complete();
  }
}
