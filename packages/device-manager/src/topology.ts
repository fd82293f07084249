import type { KnownDevice } from './choose.ts';

/** topologyManagerPolicy */
export const topologyPolicies = ['none', 'best-effort', 'restricted', 'single-numa-node'] as const;
export type TopologyPolicy = (typeof topologyPolicies)[number];

/** topologyManagerScope: what gets its devices from nodes that are close to each other. */
export const topologyScopes = ['container', 'pod'] as const;
export type TopologyScope = (typeof topologyScopes)[number];

/** A set of NUMA nodes, bit by bit. */
type NodeMask = number;

/** Nodes from which one resource of a container can be had. */
interface Hint {
  readonly mask: NodeMask;
  /** No fewer nodes would do on this machine. */
  readonly preferred: boolean;
}

/** What a container, or a pod, asks of one resource, and what may be given for it. */
export interface AlignedRequest {
  readonly count: number;
  /** Every device of the resource, also those that can not be given. */
  readonly all: readonly KnownDevice[];
  /** Ids that may be given. */
  readonly available: ReadonlySet<string>;
  /** Ids that have to be among those that are given, as far as fewer are asked for. */
  readonly reusable: readonly string[];
}

/** What was found for a container, or a pod, as a whole. */
export interface Alignment {
  /** The policy takes it. */
  readonly admitted: boolean;
  /** NUMA nodes from which its devices come; undefined: from anywhere. */
  readonly affinity: readonly number[] | undefined;
}

/** The reference kubelet refuses to start on machines with more (topologyManagerPolicyOptions, max-allowable-numa-nodes). */
const MAX_NUMA_NODES = 8;

/**
 * The NUMA nodes from which a container, or a pod, gets its devices, so that all of them are close to each other (kubelet behaviour
 * 1.21, Topology; KEP-693).
 *
 * @param nodes the machine's NUMA nodes
 */
export function alignment(
  policy: TopologyPolicy,
  nodes: readonly number[],
  requests: readonly AlignedRequest[],
): Alignment {
  if (policy === 'none' || nodes.length === 0 || nodes.length > MAX_NUMA_NODES) {
    return { admitted: true, affinity: undefined };
  }
  const everywhere = maskOf(nodes);
  const masks = subsets(nodes);
  const hints = requests.flatMap((request) => {
    const found = hintsOf(request, masks, nodes.length);
    return found === undefined ? [] : [found];
  });
  const usable = policy === 'single-numa-node' ? hints.map((some) => some.filter(isSingle)) : hints;
  const best = bestOf(combined(usable, everywhere), mostNeeded(usable));
  if (best === undefined) return { admitted: policy === 'best-effort', affinity: undefined };
  const isAnywhere = policy === 'single-numa-node' && best.mask === everywhere;
  const affinity = isAnywhere ? undefined : nodes.filter((node) => best.mask & bit(node));
  return { admitted: policy === 'best-effort' || best.preferred, affinity };
}

/** Undefined: of this resource no device says where it is. Empty: it can not be had. */
function hintsOf(request: AlignedRequest, masks: readonly NodeMask[], nodes: number): readonly Hint[] | undefined {
  const { count, all, available, reusable } = request;
  if (all.every(({ numaNodes }) => numaNodes.length === 0)) return undefined;
  const isWithin = (mask: NodeMask) => (device: KnownDevice) => (maskOf(device.numaNodes) & mask) !== 0;
  const given = all.filter(({ id }) => available.has(id) || reusable.includes(id));
  const bound = all.filter(({ id }) => reusable.includes(id));
  let fewest = nodes;
  const found: NodeMask[] = [];
  for (const mask of masks) {
    if (all.filter(isWithin(mask)).length >= count) fewest = Math.min(fewest, size(mask));
    const reused = bound.filter(isWithin(mask)).length;
    if (reused < Math.min(bound.length, count)) continue;
    if (given.filter(isWithin(mask)).length >= count) found.push(mask);
  }
  return found.map((mask) => ({ mask, preferred: size(mask) === fewest }));
}

/** What all resources have in common, for each way to choose one hint of each. */
function combined(hints: readonly (readonly Hint[])[], everywhere: NodeMask): readonly Hint[] {
  let merged: readonly Hint[] = [{ mask: everywhere, preferred: true }];
  for (const some of hints) {
    const next = new Map<string, Hint>();
    for (const one of merged) {
      for (const other of some) {
        const both = { mask: one.mask & other.mask, preferred: one.preferred && other.preferred };
        if (both.mask !== 0) next.set(`${both.mask} ${both.preferred}`, both);
      }
    }
    merged = [...next.values()];
  }
  return merged;
}

/** How many nodes the resource needs at least that needs the most. */
function mostNeeded(hints: readonly (readonly Hint[])[]): number {
  return Math.max(0, ...hints.map((some) => Math.min(...some.map(({ mask }) => size(mask)))));
}

function bestOf(hints: readonly Hint[], needed: number): Hint | undefined {
  const ranked = hints.toSorted((a, b) => rank(a, needed) - rank(b, needed) || a.mask - b.mask);
  return ranked[0];
}

/**
 * The smaller, the better: preferred ones with few nodes first. Of the others, those with as many nodes as are needed, then
 * those with more, the fewest first, then those with fewer, the most first.
 */
function rank({ mask, preferred }: Hint, needed: number): number {
  const nodes = size(mask);
  if (preferred) return nodes;
  const others = 2 * MAX_NUMA_NODES;
  return nodes >= needed ? others + nodes - needed : 2 * others + needed - nodes;
}

function isSingle({ mask, preferred }: Hint): boolean {
  return preferred && size(mask) === 1;
}

/** Every set of the nodes but the empty one. */
function subsets(nodes: readonly number[]): readonly NodeMask[] {
  let found: readonly NodeMask[] = [0];
  for (const node of nodes) found = [...found, ...found.map((mask) => mask | bit(node))];
  return found.slice(1);
}

function maskOf(nodes: readonly number[]): NodeMask {
  return nodes.reduce((mask, node) => mask | bit(node), 0);
}

function bit(node: number): NodeMask {
  return node < 31 ? 1 << node : 0;
}

function size(mask: NodeMask): number {
  let bits = 0;
  for (let rest = mask; rest !== 0; rest &= rest - 1) bits += 1;
  return bits;
}
