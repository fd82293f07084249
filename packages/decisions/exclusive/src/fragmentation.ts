import { intersection, difference } from './cpu-set.ts';
import { availableCpus } from './cpu/policy.ts';
import type { Ledger } from './ledger.ts';
import { cpusBy } from './machine.ts';
import type { ExclusiveSetup } from './setup.ts';

/** One NUMA node's part of a resource: how much is free, and how much there is to allocate. */
export interface NodeShare {
  readonly free: number;
  readonly allocatable: number;
}

/**
 * How scattered over the NUMA nodes the free part of a resource is: 1 less the largest request that one node can hold, as a part of
 * the largest that one could hold if as much were free side by side. 0: it cannot hold more (or nothing is free); near 1: what is
 * free is on many nodes, a little on each.
 */
export function fragmentation(nodes: readonly NodeShare[]): number {
  const free = nodes.reduce((sum, node) => sum + node.free, 0);
  const best = Math.min(free, Math.max(0, ...nodes.map(({ allocatable }) => allocatable)));
  return best === 0 ? 0 : 1 - Math.max(...nodes.map((node) => node.free)) / best;
}

/** The fragmentation of the CPUs that containers can have for themselves. 0 without the CPU manager. */
export function cpuFragmentation({ machine, cpu }: ExclusiveSetup, ledger: Ledger): number {
  if (cpu === undefined) return 0;
  const free = availableCpus(cpu, ledger);
  const nodes = [...cpusBy(machine.cpus, 'node').values()];
  return fragmentation(
    nodes.map((cpus) => ({
      free: intersection(cpus, free).length,
      allocatable: difference(cpus, cpu.reserved).length,
    })),
  );
}

/** The fragmentation of memory, without huge pages. 0 without the memory manager. */
export function memoryFragmentation(ledger: Ledger): number {
  return fragmentation(Object.values(ledger.nodes).flatMap(({ memoryMap }) => memoryMap['memory'] ?? []));
}
