import type { Machine } from '../machine.ts';
import type { NodeMask } from './hint.ts';

/** A machine with more nodes has no mask for them; every set of nodes is looked at, so that far fewer are of use. */
export const MOST_MASKED_NODES = 24;

/** Nodes that the machine does not have are ignored. */
export function maskOf({ nodes }: Machine, ids: Iterable<number>): NodeMask {
  let mask = 0;
  for (const id of ids) {
    const at = nodes.findIndex((node) => node.id === id);
    if (at >= 0) mask |= 1 << at;
  }
  return mask;
}

/** By number. */
export function nodesOf({ nodes }: Machine, mask: NodeMask): readonly number[] {
  return nodes.flatMap(({ id }, at) => ((mask & (1 << at)) === 0 ? [] : [id]));
}

/** The mean distance of the nodes of a set, each to itself included. */
export function meanDistance({ nodes }: Machine, mask: NodeMask): number {
  const places = nodes.flatMap((_, at) => ((mask & (1 << at)) === 0 ? [] : [at]));
  const all = places.flatMap((from) => places.map((to) => nodes[from]?.distances[to] ?? 0));
  return all.reduce((sum, one) => sum + one, 0) / all.length;
}
