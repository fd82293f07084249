import type { MergedHints } from '@kubus/contracts';
import { type Merge, cpuSetText } from '@kubus/exclusive';

/** Most hints for a resource in a message; many nodes have many sets of them. */
const MOST_HINTS = 16;

/**
 * What the providers said, as it is published with a refusal.
 *
 * @param numbers of the machine's NUMA nodes, in the order of the masks
 */
export function shownMerge(policy: string, numbers: readonly number[], merge: Merge): MergedHints {
  const { container, resources, affinity } = merge;
  const nodes = (mask: number) => cpuSetText(numbers.filter((_, at) => (mask & (1 << at)) !== 0));
  return {
    policy,
    ...(container !== undefined && { container }),
    resources: resources.map(({ resource, hints }) => {
      const shown = hints?.slice(0, MOST_HINTS).map(({ mask, preferred }) => ({ nodes: nodes(mask), preferred }));
      const leftOut = Math.max(0, (hints?.length ?? 0) - MOST_HINTS);
      return { resource, ...(shown !== undefined && { hints: shown }), ...(leftOut > 0 && { leftOut }) };
    }),
    ...(affinity.mask !== undefined && { nodes: nodes(affinity.mask) }),
    preferred: affinity.preferred,
  };
}
