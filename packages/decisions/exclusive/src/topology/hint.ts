/** A set of a machine's NUMA nodes: one bit for each, by their order. */
export type NodeMask = number;

/** NUMA nodes that can provide one resource. */
export interface Hint {
  readonly mask: NodeMask;
  /** No fewer nodes suffice on this machine. */
  readonly preferred: boolean;
}

/** The hints for one resource. Undefined: it can come from any node. Empty: it cannot be provided. */
export type Hints = readonly Hint[] | undefined;

/** The hints for a resource by its name (`cpu`, `memory`, `hugepages-2Mi`, `example.com/gpu`). */
export interface ResourceHints {
  readonly resource: string;
  readonly hints: Hints;
}

/** The result for all resources together. */
export interface Affinity {
  /** Undefined: any node. */
  readonly mask: NodeMask | undefined;
  /** Each resource comes from these nodes, and could not come from fewer. */
  readonly preferred: boolean;
}

/** topologyManagerPolicy with its options, on a machine. */
export interface Merging {
  readonly policy: 'best-effort' | 'restricted' | 'single-numa-node';
  /** All nodes of the machine. */
  readonly all: NodeMask;
  /** How far the nodes of a set are from each other; of several sets with the same number of nodes the closest one is the best. */
  readonly distance: (mask: NodeMask) => number;
}

/** More than fit into a mask. */
const MOST_NODES = 32;

/** What is known of a combination of some resources' hints. */
interface Combined extends Hint {
  /** One of the resources is bound to nodes. */
  readonly bound: boolean;
}

/**
 * The nodes that suit all resources best, as the reference kubelet merges hints (behaviour:resource-managers, Topology; KEP-693): each
 * combination of one hint of each resource is looked at.
 */
export function mergedAffinity({ policy, all, distance }: Merging, resources: readonly Hints[]): Affinity {
  const isSingle = policy === 'single-numa-node';
  const lists = isSingle ? resources.map((hints) => hints?.filter(isSingleNode)) : resources;
  const combinations = combined(all, lists, isSingle).filter(({ mask }) => mask !== 0);
  const needed = mostNeeded(lists);
  const far = isSingle ? () => 0 : distance;
  const best = combinations
    .map((hint) => ({ hint, rank: rank(hint, needed), distance: far(hint.mask) }))
    .toSorted((a, b) => a.rank - b.rank || a.distance - b.distance || a.hint.mask - b.hint.mask)[0]?.hint;
  const { mask, preferred } = best ?? { mask: all, preferred: false };
  return { mask: isSingle && mask === all ? undefined : mask, preferred };
}

/** Whether the policy admits what could be merged best. */
export function isAdmitted({ policy }: Pick<Merging, 'policy'>, { preferred }: Affinity): boolean {
  return policy === 'best-effort' || preferred;
}

/** Every non-empty set of the nodes of a mask: those with fewer nodes first, then those with lower nodes. */
export function nodeSets(all: NodeMask): readonly NodeMask[] {
  const found: NodeMask[] = [];
  for (let mask = all; mask !== 0; mask = (mask - 1) & all) found.push(mask);
  return found.toSorted((a, b) => nodeCount(a) - nodeCount(b) || lowestFirst(a, b));
}

export function nodeCount(mask: NodeMask): number {
  let nodes = 0;
  for (let rest = mask; rest !== 0; rest &= rest - 1) nodes += 1;
  return nodes;
}

/** Of two sets of the same size the one that has the lowest node that they do not share. */
function lowestFirst(a: NodeMask, b: NodeMask): number {
  const lowest = (a ^ b) & -(a ^ b);
  if (lowest === 0) return 0;
  return (a & lowest) !== 0 ? -1 : 1;
}

function combined(all: NodeMask, lists: readonly Hints[], isSingle: boolean): readonly Combined[] {
  let merged: readonly Combined[] = [{ mask: all, preferred: true, bound: false }];
  for (const hints of lists) {
    if (hints === undefined) continue;
    if (hints.length === 0) {
      merged = isSingle ? [] : merged.map((one) => ({ ...one, preferred: false }));
      continue;
    }
    merged = eachWithEach(merged, hints);
  }
  return merged;
}

/** A combination for each pair, those with equal results once. */
function eachWithEach(merged: readonly Combined[], hints: readonly Hint[]): readonly Combined[] {
  const [preferred, others] = [new Set<NodeMask>(), new Set<NodeMask>()];
  for (const one of merged) {
    for (const hint of hints) {
      const isEqual = !one.bound || one.mask === hint.mask;
      const into = one.preferred && hint.preferred && isEqual ? preferred : others;
      into.add(one.mask & hint.mask);
    }
  }
  return [
    ...Array.from(preferred, (mask) => ({ mask, preferred: true, bound: true })),
    ...Array.from(others, (mask) => ({ mask, preferred: false, bound: true })),
  ];
}

/** The greatest of the least numbers of nodes that the resources require. */
function mostNeeded(lists: readonly Hints[]): number {
  const least = lists.map((hints) => Math.min(...(hints ?? []).map(({ mask }) => nodeCount(mask))));
  return Math.max(0, ...least.filter(Number.isFinite));
}

/**
 * Best first: preferred hints with few nodes. Then the others: those with exactly as many nodes as are needed, then those with fewer
 * (most nodes first), then those with more (fewest nodes first).
 */
function rank({ mask, preferred }: Hint, needed: number): number {
  const nodes = nodeCount(mask);
  if (preferred) return nodes;
  return nodes <= needed ? MOST_NODES + needed - nodes : 2 * MOST_NODES + nodes - needed;
}

function isSingleNode({ mask, preferred }: Hint): boolean {
  return preferred && nodeCount(mask) === 1;
}
