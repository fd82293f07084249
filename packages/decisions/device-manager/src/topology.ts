import { type Hints, type NodeMask, isAdmitted, mergedAffinity, nodeCount, nodeSets } from '@kubus/exclusive/hints';
import type { KnownDevice } from './choose.ts';

/** topologyManagerPolicy */
export const topologyPolicies = ['none', 'best-effort', 'restricted', 'single-numa-node'] as const;
type TopologyPolicy = (typeof topologyPolicies)[number];

/** topologyManagerScope: whether each container, or the pod as a whole, gets its devices from nodes that are close to each other. */
export type TopologyScope = 'container' | 'pod';

/** The NUMA nodes of a machine, and the policy for choosing among them. */
export interface Topology {
  readonly policy: TopologyPolicy;
  readonly nodes: readonly number[];
  /**
   * The distance from each node to each node, in the same order. Set when the closest set is preferred among those with the same number
   * of nodes (topologyManagerPolicyOptions, prefer-closest-numa-nodes); single-numa-node does not use it.
   */
  readonly distances?: readonly (readonly number[])[] | undefined;
}

/** The request of a container or a pod for one resource, and what may be allocated for it. */
export interface AlignedRequest {
  readonly count: number;
  /** Every device of the resource, including those that cannot be allocated. */
  readonly all: readonly KnownDevice[];
  /** Ids that may be allocated. */
  readonly available: ReadonlySet<string>;
  /** Ids that must be part of the allocation, up to the requested number. */
  readonly reusable: readonly string[];
}

/** The result for a container or a pod as a whole. */
export interface Alignment {
  /** The policy admits it. */
  readonly admitted: boolean;
  /** NUMA nodes from which its devices come; undefined: any. */
  readonly affinity: readonly number[] | undefined;
}

/** A mask has 32 bits: the last one is for all nodes without devices together. */
const MOST_NODES = 31;
const OTHERS: NodeMask = 1 << MOST_NODES;

/**
 * The NUMA nodes from which a container, or a pod, gets its devices, so that all devices are close to each other
 * (behaviour:resource-managers, Topology; KEP-693). For each resource only nodes that have devices of it are considered. Every set
 * of these nodes is examined; the number of sets doubles with each further node.
 */
export function alignment(topology: Topology, requests: readonly AlignedRequest[]): Alignment {
  const { policy, nodes } = topology;
  if (policy === 'none' || nodes.length === 0) return { admitted: true, affinity: undefined };
  const places = new Places(nodes, requests);
  const { all } = places;
  const affinity = mergedAffinity(
    { policy, all, distance: places.distanceBy(topology) },
    requests.map((request) => hintsOf(request, places)),
  );
  const { mask } = affinity;
  return {
    admitted: isAdmitted({ policy }, affinity),
    affinity: mask === undefined ? undefined : mask === all ? nodes : places.nodesOf(mask),
  };
}

/**
 * The hints for each of these resources, in masks of the machine's nodes by number.
 *
 * @param nodes of the machine, no more than fit into a mask
 */
export function deviceHints(nodes: readonly number[], requests: readonly AlignedRequest[]): readonly Hints[] {
  const places = new Places(nodes, requests);
  return requests.map((request) => hintsOf(request, places));
}

/** The nodes of a machine; of one that has too many, those that have devices of the requested resources. */
class Places {
  readonly #nodes: readonly number[];
  /** Every node of the machine. */
  readonly all: NodeMask;

  constructor(nodes: readonly number[], requests: readonly AlignedRequest[]) {
    const used = new Set(requests.flatMap(({ all }) => all.flatMap(({ numaNodes }) => numaNodes)));
    const sorted = nodes.toSorted((a, b) => a - b);
    this.#nodes = nodes.length <= MOST_NODES ? sorted : sorted.filter((node) => used.has(node));
    this.all = this.maskOf(this.#nodes) | (this.#nodes.length < nodes.length ? OTHERS : 0);
  }

  /** Nodes that the machine does not have are ignored. */
  maskOf(nodes: readonly number[]): NodeMask {
    return nodes.reduce((mask, node) => mask | bit(this.#nodes.indexOf(node)), 0);
  }

  nodesOf(mask: NodeMask): number[] {
    return this.#nodes.filter((_node, at) => mask & bit(at));
  }

  /** The mean distance of the nodes of a set. */
  distanceBy({ nodes, distances }: Topology): (mask: NodeMask) => number {
    if (distances === undefined) return () => 0;
    return (mask) => {
      const rows = this.nodesOf(mask).map((node) => nodes.indexOf(node));
      const all = rows.flatMap((from) => rows.map((to) => distances[from]?.[to] ?? 0));
      return all.reduce((sum, one) => sum + one, 0) / all.length;
    };
  }
}

/** Undefined: no device of this resource has a NUMA affinity. Empty: the resource cannot be provided. */
function hintsOf(request: AlignedRequest, places: Places): Hints {
  const { count, all, available, reusable } = request;
  const placed = all.map(({ id, numaNodes }) => ({ id, on: places.maskOf(numaNodes) })).filter(({ on }) => on !== 0);
  if (placed.length === 0) return all.some(({ numaNodes }) => numaNodes.length > 0) ? [] : undefined;
  const within = (some: typeof placed, mask: NodeMask) => some.filter(({ on }) => on & mask).length;
  const given = placed.filter(({ id }) => available.has(id) || reusable.includes(id));
  const bound = placed.filter(({ id }) => reusable.includes(id));
  const everywhere = placed.reduce((mask, { on }) => mask | on, 0);
  let fewest = nodeCount(everywhere);
  const found: NodeMask[] = [];
  for (const mask of nodeSets(everywhere)) {
    if (within(placed, mask) >= count) fewest = Math.min(fewest, nodeCount(mask));
    if (within(bound, mask) < Math.min(bound.length, count)) continue;
    if (within(given, mask) >= count) found.push(mask);
  }
  return found.map((mask) => ({ mask, preferred: nodeCount(mask) === fewest }));
}

/** Zero for a node that is not in the list. At most 31 nodes can have devices. */
function bit(at: number): NodeMask {
  return at >= 0 && at < MOST_NODES ? 1 << at : 0;
}
