import {
  type Block,
  type Ledger,
  type MemoryTable,
  type NodeMemory,
  entriesOf,
  entryOf,
  wholeOf,
  withEntry,
  withoutEntry,
  withoutWhole,
} from '../ledger.ts';
import { isSame } from '../cpu-set.ts';
import type { Machine } from '../machine.ts';
import type { ContainerRequest, PodRequest } from '../request.ts';
import { type Affinity, type Hint, type NodeMask, nodeCount } from '../topology/hint.ts';
import { nodesOf } from '../topology/nodes.ts';
import { freeOn, memoryHints } from './hints.ts';
import { type ReusableMemory, reusableOn } from './reusable.ts';

/** The memory manager with the policy `Static`, on a machine. */
export interface MemoryPolicy {
  readonly machine: Machine;
  /** Bytes by the number of the NUMA node and the resource. */
  readonly reserved: Readonly<Record<string, Readonly<Record<string, number>>>>;
}

/** Why a container does not get its memory, in the reference kubelet's words. */
export interface NoMemory {
  readonly problem: string;
  /** The reason of the admission's refusal; missing: not expected. */
  readonly reason?: 'EmptyPodSharedPoolError';
}

/** What a container gets, and the nodes that were chosen for all of its resources. */
export interface MemoryQuestion {
  readonly pod: PodRequest;
  readonly container: ContainerRequest;
  readonly affinity: Affinity;
  readonly reusable: ReusableMemory;
}

/** What is free and what is reserved on each node before anything is allocated. */
export function unusedMemory({ machine, reserved }: MemoryPolicy): Ledger['nodes'] {
  return Object.fromEntries(
    machine.nodes.map(({ id, memory, hugePages }): [number, NodeMemory] => {
      const table = (resource: string, total: number, taken: number): MemoryTable => {
        const systemReserved = reserved[id]?.[resource] ?? 0;
        const allocatable = total - systemReserved - taken;
        return { total, systemReserved, allocatable, reserved: 0, free: allocatable };
      };
      const pages = hugePages.map(({ size, count }): [string, MemoryTable] => {
        const resource = hugePageResource(size);
        return [resource, table(resource, size * count, 0)];
      });
      const paged = pages.reduce((sum, [, { total }]) => sum + total, 0);
      const memoryMap = { ...Object.fromEntries(pages), memory: table('memory', memory, paged) };
      return [id, { numberOfAssignments: 0, memoryMap, cells: [id] }];
    }),
  );
}

/** `hugepages-2Mi` for 2097152 bytes. */
function hugePageResource(size: number): string {
  const units = ['', 'Ki', 'Mi', 'Gi', 'Ti'];
  let [amount, unit] = [size, 0];
  while (amount % 1024 === 0 && unit < units.length - 1) [amount, unit] = [amount / 1024, unit + 1];
  return `hugepages-${amount}${units[unit] ?? ''}`;
}

/** The ledger with the container's memory. A container that has memory keeps it. */
export function allocatedMemory(
  policy: MemoryPolicy,
  ledger: Ledger,
  { pod, container, affinity, reusable }: MemoryQuestion,
): Ledger | NoMemory {
  const { memory: requested, name } = container;
  if (requested === undefined || entryOf(ledger.memory, pod.uid, name) !== undefined) return ledger;
  const chosen = chosenNodes(policy, ledger, { requested, affinity, reusable });
  if ('problem' in chosen) return chosen;
  const numaAffinity = nodesOf(policy.machine, chosen.mask);
  const blocks = blocksOn(numaAffinity, requested);
  let { nodes } = ledger;
  for (const { type, size } of blocks) {
    const reused = reusableOn(reusable, chosen.mask, type);
    nodes = reservedOn(nodes, { numaAffinity, type, size: Math.max(0, size - reused) });
  }
  const memory = withEntry(ledger.memory, pod.uid, name, blocks);
  return withSmallerInitBlocks({ ...ledger, nodes, memory }, pod, { container, blocks });
}

/** One block for each kind of memory. */
export function blocksOn(numaAffinity: readonly number[], amounts: Readonly<Record<string, number>>): readonly Block[] {
  return Object.entries(amounts)
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
    .map(([type, size]): Block => ({ numaAffinity, type, size }));
}

/** The ledger without a container's memory. That of a pod as a whole is free when its last container has none. */
export function releasedMemory(ledger: Ledger, uid: string, container: string): Ledger {
  const blocks = entryOf(ledger.memory, uid, container);
  if (blocks === undefined) return ledger;
  const memory = withoutEntry(ledger.memory, uid, container);
  const whole = wholeOf(ledger.podMemory, uid);
  if (whole !== undefined && Object.keys(entriesOf(memory, uid)).length > 0) return { ...ledger, memory };
  let { nodes } = ledger;
  for (const block of whole ?? blocks) nodes = freedOn(nodes, block);
  const podMemory = whole === undefined ? ledger.podMemory : withoutWhole(ledger.podMemory, uid);
  return { ...ledger, nodes, memory, podMemory };
}

/** Takes the memory from the nodes in their order, as far as each has it. */
export function reservedOn(nodes: Ledger['nodes'], { numaAffinity, type, size }: Block): Ledger['nodes'] {
  let missing = size;
  const changed = numaAffinity.flatMap((id): [number, NodeMemory][] => {
    const node = nodes[id];
    if (node === undefined) return [];
    const table = node.memoryMap[type];
    const some = Math.max(0, Math.min(missing, table?.free ?? 0));
    missing -= some;
    return [
      [
        id,
        { ...node, ...moved(node, type, some), numberOfAssignments: node.numberOfAssignments + 1, cells: numaAffinity },
      ],
    ];
  });
  return { ...nodes, ...Object.fromEntries(changed) };
}

function freedOn(nodes: Ledger['nodes'], { numaAffinity, type, size }: Block): Ledger['nodes'] {
  let missing = size;
  const changed = numaAffinity.flatMap((id): [number, NodeMemory][] => {
    const node = nodes[id];
    if (node === undefined) return [];
    const some = Math.min(missing, node.memoryMap[type]?.reserved ?? 0);
    missing -= some;
    const numberOfAssignments = node.numberOfAssignments - 1;
    const cells = numberOfAssignments === 0 ? [id] : node.cells;
    return [[id, { ...node, ...moved(node, type, -some), numberOfAssignments, cells }]];
  });
  return { ...nodes, ...Object.fromEntries(changed) };
}

/** Bytes from free to reserved. */
function moved({ memoryMap }: NodeMemory, type: string, bytes: number): Pick<NodeMemory, 'memoryMap'> {
  const table = memoryMap[type];
  if (table === undefined) return { memoryMap };
  const { free, reserved } = table;
  return { memoryMap: { ...memoryMap, [type]: { ...table, free: free - bytes, reserved: reserved + bytes } } };
}

/** The nodes that were chosen for all resources, or more of them if these do not have the memory; none that break a group. */
export function chosenNodes(
  policy: MemoryPolicy,
  ledger: Ledger,
  question: Pick<MemoryQuestion, 'affinity' | 'reusable'> & { readonly requested: Readonly<Record<string, number>> },
): Hint | NoMemory {
  const chosen = sufficientNodes(policy, ledger, question);
  if ('problem' in chosen || !isMixed(policy, ledger, chosen.mask)) return chosen;
  return { problem: '[memorymanager] preferred hint violates NUMA node allocation' };
}

function sufficientNodes(
  policy: MemoryPolicy,
  ledger: Ledger,
  {
    requested,
    affinity,
    reusable,
  }: {
    readonly requested: Readonly<Record<string, number>>;
    readonly affinity: Affinity;
    readonly reusable: ReusableMemory;
  },
): Hint | NoMemory {
  const hints = () => memoryHints(policy.machine, ledger, { requested, reusable });
  let { preferred, mask } = affinity;
  if (mask === undefined) {
    const best = bestOf(hints());
    if (best === undefined) {
      const problem = 'failed to get the default NUMA affinity, no NUMA nodes with enough memory is available';
      return { problem: `[memorymanager] ${problem}` };
    }
    if (!best.preferred && preferred) return { problem: '[memorymanager] failed to find the default preferred hint' };
    ({ mask, preferred } = best);
  }
  const chosen = mask;
  const isEnough = Object.entries(requested).every(
    ([type, size]) => freeOn(policy.machine, ledger, chosen, type) >= size,
  );
  if (isEnough) return { mask: chosen, preferred };
  const wider = bestOf(hints().filter((hint) => (hint.mask & chosen) === chosen));
  if (wider === undefined) {
    return { problem: '[memorymanager] failed to find NUMA nodes to extend the current topology hint' };
  }
  if (!wider.preferred && preferred) {
    return { problem: '[memorymanager] failed to find the extended preferred hint' };
  }
  return wider;
}

/** Preferred, then with the fewest nodes, then with the lowest ones. */
function bestOf(hints: readonly Hint[]): Hint | undefined {
  return hints.toSorted(
    (a, b) => Number(b.preferred) - Number(a.preferred) || nodeCount(a.mask) - nodeCount(b.mask) || a.mask - b.mask,
  )[0];
}

/** A node cannot provide memory both alone and together with others, nor with two groups. */
function isMixed({ machine }: MemoryPolicy, { nodes }: Ledger, mask: NodeMask): boolean {
  const group = nodesOf(machine, mask);
  if (group.length === 1) return false;
  return group.some((id) => {
    const node = nodes[id];
    return node !== undefined && node.numberOfAssignments > 0 && !isSame(node.cells, group);
  });
}

/** The blocks of init containers without what this container has of their memory, so that the sum is what the pod has. */
function withSmallerInitBlocks(
  ledger: Ledger,
  { uid, containers }: PodRequest,
  { container, blocks }: { readonly container: ContainerRequest; readonly blocks: readonly Block[] },
): Ledger {
  const before = containers.slice(
    0,
    containers.findIndex(({ name }) => name === container.name),
  );
  let { memory } = ledger;
  for (const block of blocks) {
    let missing = block.size;
    for (const { name } of before.filter(({ kind }) => kind === 'init')) {
      const had = entryOf(memory, uid, name);
      if (had === undefined || had.length === 0 || missing === 0) continue;
      const smaller = had.map((one) => {
        const isMeant = one.type === block.type && isSame(one.numaAffinity, block.numaAffinity);
        const some = isMeant ? Math.min(one.size, missing) : 0;
        missing -= some;
        return { ...one, size: one.size - some };
      });
      memory = withEntry(memory, uid, name, smaller);
    }
  }
  return { ...ledger, memory };
}
