import { isSame } from '../cpu-set.ts';
import { type Ledger, type NodeMemory, wholeOf } from '../ledger.ts';
import { type MemoryPolicy, reservedOn, unusedMemory } from './policy.ts';

/** Why the ledger cannot be used with this policy on this machine, in the reference kubelet's words; undefined: it can. */
export function memoryLedgerProblem(policy: MemoryPolicy, { nodes, memory, podMemory }: Ledger): string | undefined {
  let expected = unusedMemory(policy);
  for (const [pod, containers] of Object.entries(memory)) {
    const whole = wholeOf(podMemory, pod);
    // Of a pod that has its memory as a whole, only this is taken from the nodes.
    for (const [container, blocks] of whole === undefined ? Object.entries(containers) : [['', whole] as const]) {
      for (const block of blocks) {
        const uses = `[memorymanager] (pod: ${pod}, container: ${container}) the memory assignment uses`;
        const used = block.numaAffinity.map((id) => expected[id]);
        if (used.includes(undefined)) return `${uses} the NUMA that does not exist`;
        if (used.some((node) => node?.memoryMap[block.type] === undefined)) {
          return `${uses} memory resource that does not exist`;
        }
        expected = reservedOn(expected, block);
      }
    }
  }
  const ids = Object.keys(expected);
  const isEqual = ids.length === Object.keys(nodes).length && ids.every((id) => isEqualNode(nodes, expected, id));
  return isEqual ? undefined : '[memorymanager] the expected machine state is different from the real one';
}

/** Nodes of a group are compared by their sums: memory is freed in another order than it is allocated. */
function isEqualNode(found: Ledger['nodes'], expected: Ledger['nodes'], id: string): boolean {
  const [one, other] = [found[id], expected[id]];
  if (one === undefined || other === undefined) return false;
  const types = Object.keys(other.memoryMap);
  const isEqualType = (type: string) => {
    const [a, b] = [one.memoryMap[type], other.memoryMap[type]];
    if (a === undefined || b === undefined) return false;
    const isSameSize = a.total === b.total && a.systemReserved === b.systemReserved && a.allocatable === b.allocatable;
    const sum = (nodes: Ledger['nodes'], of: 'free' | 'reserved') =>
      one.cells.reduce((bytes, cell) => bytes + (nodes[cell]?.memoryMap[type]?.[of] ?? 0), 0);
    return isSameSize && (['free', 'reserved'] as const).every((of) => sum(found, of) === sum(expected, of));
  };
  return isEqualShape(one, other) && Object.keys(one.memoryMap).length === types.length && types.every(isEqualType);
}

function isEqualShape(a: NodeMemory, b: NodeMemory): boolean {
  return a.numberOfAssignments === b.numberOfAssignments && isSame(a.cells, b.cells);
}
