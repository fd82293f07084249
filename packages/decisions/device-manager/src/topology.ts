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

/** A set of the relevant nodes, one bit for each. */
type NodeMask = number;

/** Nodes that can provide one resource of a container. */
interface Hint {
  readonly mask: NodeMask;
  /** No fewer nodes suffice on this machine. For several resources together: this holds for each of them, with the same nodes. */
  readonly preferred: boolean;
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

/** More than fit into a mask. */
const MOST_NODES = 32;

/**
 * The NUMA nodes from which a container, or a pod, gets its devices, so that all devices are close to each other
 * (behaviour:resource-managers, Topology; KEP-693). For each resource only nodes that have devices of it are considered. Every set
 * of these nodes is examined; the number of sets doubles with each further node.
 */
export function alignment(topology: Topology, requests: readonly AlignedRequest[]): Alignment {
  const { policy, nodes } = topology;
  if (policy === 'none' || nodes.length === 0) return { admitted: true, affinity: undefined };
  const places = new Places(nodes, requests);
  const hints = requests.flatMap((request) => {
    const found = hintsOf(request, places);
    return found === undefined ? [] : [found];
  });
  const usable = policy === 'single-numa-node' ? hints.map((some) => some.filter(isSingle)) : hints;
  const distance = policy === 'single-numa-node' ? () => 0 : places.distanceBy(topology);
  const best = bestOf(combined(usable), { needed: mostNeeded(usable), distance });
  const affinity = best === undefined ? nodes : places.nodesOf(best.mask);
  const isAnywhere = policy === 'single-numa-node' && affinity.length === nodes.length;
  const isPreferred = best === undefined ? usable.length === 0 : best.preferred;
  return { admitted: policy === 'best-effort' || isPreferred, affinity: isAnywhere ? undefined : affinity };
}

/** The nodes of a machine that have devices of the requested resources. */
class Places {
  readonly #nodes: readonly number[];

  constructor(nodes: readonly number[], requests: readonly AlignedRequest[]) {
    const used = new Set(requests.flatMap(({ all }) => all.flatMap(({ numaNodes }) => numaNodes)));
    this.#nodes = nodes.filter((node) => used.has(node)).toSorted((a, b) => a - b);
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
function hintsOf(request: AlignedRequest, places: Places): readonly Hint[] | undefined {
  const { count, all, available, reusable } = request;
  const placed = all.map(({ id, numaNodes }) => ({ id, on: places.maskOf(numaNodes) })).filter(({ on }) => on !== 0);
  if (placed.length === 0) return all.some(({ numaNodes }) => numaNodes.length > 0) ? [] : undefined;
  const within = (some: typeof placed, mask: NodeMask) => some.filter(({ on }) => on & mask).length;
  const given = placed.filter(({ id }) => available.has(id) || reusable.includes(id));
  const bound = placed.filter(({ id }) => reusable.includes(id));
  const everywhere = placed.reduce((mask, { on }) => mask | on, 0);
  let fewest = size(everywhere);
  const found: NodeMask[] = [];
  for (const mask of subsets(everywhere)) {
    if (within(placed, mask) >= count) fewest = Math.min(fewest, size(mask));
    if (within(bound, mask) < Math.min(bound.length, count)) continue;
    if (within(given, mask) >= count) found.push(mask);
  }
  return found.map((mask) => ({ mask, preferred: size(mask) === fewest }));
}

/** The intersection for each combination of one hint of each resource. A resource without hints makes none of them preferred. */
function combined(hints: readonly (readonly Hint[])[]): readonly Hint[] {
  const [first = [], ...others] = hints.filter((some) => some.length > 0);
  let merged = first;
  for (const some of others) {
    const next = new Map<string, Hint>();
    for (const one of merged) {
      for (const other of some) {
        const preferred = one.preferred && other.preferred && one.mask === other.mask;
        const both = { mask: one.mask & other.mask, preferred };
        if (both.mask !== 0) next.set(`${both.mask} ${preferred}`, both);
      }
    }
    merged = [...next.values()];
  }
  const canBeHad = hints.every((some) => some.length > 0);
  return canBeHad ? merged : merged.map(({ mask }) => ({ mask, preferred: false }));
}

/** The greatest of the minimum numbers of nodes that the resources require. */
function mostNeeded(hints: readonly (readonly Hint[])[]): number {
  const least = hints.map((some) => Math.min(...some.map(({ mask }) => size(mask))));
  return Math.max(0, ...least.filter(Number.isFinite));
}

function bestOf(
  hints: readonly Hint[],
  { needed, distance }: { readonly needed: number; readonly distance: (mask: NodeMask) => number },
): Hint | undefined {
  const ranked = hints.map((hint) => ({ hint, rank: rank(hint, needed), distance: distance(hint.mask) }));
  ranked.sort((a, b) => a.rank - b.rank || a.distance - b.distance || a.hint.mask - b.hint.mask);
  return ranked[0]?.hint;
}

/**
 * Sort order, best first: preferred hints with few nodes. Then the others: those with exactly as many nodes as are needed, then
 * those with fewer (most nodes first), then those with more (fewest nodes first).
 */
function rank({ mask, preferred }: Hint, needed: number): number {
  const nodes = size(mask);
  if (preferred) return nodes;
  return nodes <= needed ? MOST_NODES + needed - nodes : 2 * MOST_NODES + nodes - needed;
}

function isSingle({ mask, preferred }: Hint): boolean {
  return preferred && size(mask) === 1;
}

/** Every non-empty set of these nodes. */
function subsets(nodes: NodeMask): readonly NodeMask[] {
  const found: NodeMask[] = [];
  for (let mask = nodes; mask !== 0; mask = (mask - 1) & nodes) found.push(mask);
  return found;
}

/** Zero for a node that is not in the list. At most 31 nodes can have devices. */
function bit(at: number): NodeMask {
  return at >= 0 && at < MOST_NODES - 1 ? 1 << at : 0;
}

function size(mask: NodeMask): number {
  let bits = 0;
  for (let rest = mask; rest !== 0; rest &= rest - 1) bits += 1;
  return bits;
}
