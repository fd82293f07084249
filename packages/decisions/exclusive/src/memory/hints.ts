import { isSame } from '../cpu-set.ts';
import { emptyMemoryPool } from '../empty-pool.ts';
import { type Block, type Ledger, entryOf, wholeOf } from '../ledger.ts';
import type { Machine } from '../machine.ts';
import { type ContainerRequest, type PodRequest, podMemory } from '../request.ts';
import { type Hint, type NodeMask, type ResourceHints, nodeCount, nodeSets } from '../topology/hint.ts';
import { maskOf, nodesOf } from '../topology/nodes.ts';
import { type ReusableMemory, reusableOn } from './reusable.ts';

/** One entry for each kind of memory; none: the memory can come from any node. */
export function containerMemoryHints(
  machine: Machine,
  ledger: Ledger,
  {
    uid,
    container,
    reusable,
  }: { readonly uid: string; readonly container: ContainerRequest; readonly reusable: ReusableMemory },
): readonly ResourceHints[] {
  const { memory: requested, name } = container;
  if (requested === undefined) return [];
  const given = entryOf(ledger.memory, uid, name);
  if (given !== undefined) return hintsAgain(machine, given, requested);
  return forEach(requested, memoryHints(machine, ledger, { requested, reusable }));
}

/** For the memory of a pod as a whole. */
export function podMemoryHints(machine: Machine, ledger: Ledger, pod: PodRequest): readonly ResourceHints[] {
  const requested = podMemory(pod);
  if (requested === undefined || Object.keys(requested).length === 0) return [];
  if (pod.whole !== undefined) {
    if (emptyMemoryPool(pod, pod.whole) !== undefined) {
      return Object.keys(requested).map((resource) => ({ resource, hints: [] }));
    }
    const given = wholeOf(ledger.podMemory, pod.uid);
    if (given !== undefined) return hintsAgain(machine, given, requested);
    return forEach(requested, memoryHints(machine, ledger, { requested, reusable: {} }));
  }
  for (const { name } of pod.containers) {
    const given = entryOf(ledger.memory, pod.uid, name);
    if (given !== undefined) return hintsAgain(machine, given, requested);
  }
  return forEach(requested, memoryHints(machine, ledger, { requested, reusable: {} }));
}

/** Sets of nodes that have the memory: a node alone, or nodes that provide memory together and to no others. None for no memory. */
export function memoryHints(
  machine: Machine,
  ledger: Ledger,
  { requested, reusable }: { readonly requested: Readonly<Record<string, number>>; readonly reusable: ReusableMemory },
): readonly Hint[] {
  const amounts = Object.entries(requested);
  if (amounts.length === 0) return [];
  let fewest = machine.nodes.length;
  const found: NodeMask[] = [];
  const every = maskOf(
    machine,
    machine.nodes.map(({ id }) => id),
  );
  for (const mask of nodeSets(every)) {
    if (amounts.some(([type, size]) => sumOn(machine, ledger, { mask, type, of: 'allocatable' }) < size)) continue;
    fewest = Math.min(fewest, nodeCount(mask));
    const isEnough = ([type, size]: [string, number]) =>
      freeOn(machine, ledger, mask, type) + reusableOn(reusable, mask, type) >= size;
    if (canGroup(machine, ledger, mask) && amounts.every(isEnough)) found.push(mask);
  }
  return found.map((mask) => ({ mask, preferred: nodeCount(mask) === fewest }));
}

export function freeOn(machine: Machine, ledger: Ledger, mask: NodeMask, type: string): number {
  return sumOn(machine, ledger, { mask, type, of: 'free' });
}

function sumOn(
  machine: Machine,
  { nodes }: Ledger,
  { mask, type, of }: { readonly mask: NodeMask; readonly type: string; readonly of: 'free' | 'allocatable' },
): number {
  return nodesOf(machine, mask).reduce((sum, id) => sum + (nodes[id]?.memoryMap[type]?.[of] ?? 0), 0);
}

function canGroup(machine: Machine, { nodes }: Ledger, mask: NodeMask): boolean {
  const group = nodesOf(machine, mask);
  return group.every((id) => {
    const { cells, numberOfAssignments } = nodes[id] ?? { cells: [], numberOfAssignments: 0 };
    if (group.length === 1) return cells.length <= 1;
    return numberOfAssignments === 0 || (cells.length > 1 && isSame(cells, group));
  });
}

/** The hints of memory that is allocated; none if it is not what is requested. */
function hintsAgain(
  machine: Machine,
  blocks: readonly Block[],
  requested: Readonly<Record<string, number>>,
): readonly ResourceHints[] {
  const isRequested = ({ type, size }: Block) => requested[type] === size;
  if (blocks.length !== Object.keys(requested).length || !blocks.every(isRequested)) return [];
  return blocks.map(({ type, numaAffinity }) => ({
    resource: type,
    hints: [{ mask: maskOf(machine, numaAffinity), preferred: true }],
  }));
}

/** Memory that no set of nodes has gives no hint: the allocation then refuses it. */
function forEach(requested: Readonly<Record<string, number>>, hints: readonly Hint[]): readonly ResourceHints[] {
  return hints.length === 0 ? [] : Object.keys(requested).map((resource) => ({ resource, hints }));
}
