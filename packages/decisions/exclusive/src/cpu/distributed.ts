import type { CpuSet } from '../cpu-set.ts';
import { type Machine, cpuNodes } from '../machine.ts';
import { combinations } from './combinations.ts';
import { FreeCpus, type NoCpus, type TakeOptions, packedCpus, tooFew } from './packed.ts';

/** A set of NUMA nodes, and those of them that provide what cannot be divided evenly. */
interface Share {
  readonly nodes: readonly number[];
  readonly rest: readonly number[];
  /** How unevenly free CPUs are left on the machine's nodes; 0 is even. */
  readonly balance: number;
}

/**
 * A number of CPUs in equal parts from the fewest NUMA nodes that can provide them this way, packed within each node (KEP-2902). They
 * are taken in groups of a size. Where no nodes can, they are packed.
 */
export function distributedCpus(
  machine: Machine,
  free: CpuSet,
  count: number,
  options: TakeOptions & { readonly group: number },
): CpuSet | NoCpus {
  const { group } = options;
  const packed = { ...options, byCache: false };
  if (count % group !== 0) return packedCpus(machine, free, count, packed);
  if (count < 1) return [];
  if (count > free.length) return tooFew(count, free.length);
  const taking = new FreeCpus(machine, free, count);
  const nodes = taking.nodes();
  for (const size of nodeCounts(machine, nodes.length, { count, group })) {
    const share = bestShare(taking, nodes, { size, count, group });
    if (share !== undefined) return sharedCpus(machine, taking, share, { ...packed, count, group });
  }
  return packedCpus(machine, free, count, packed);
}

interface Amount {
  readonly count: number;
  readonly group: number;
}

/** Numbers of nodes from which so many CPUs can come. */
function nodeCounts(machine: Machine, available: number, { count, group }: Amount): readonly number[] {
  const perNode = Math.ceil(Math.ceil(machine.cpus.length / group) / cpuNodes(machine).length);
  const needed = Math.ceil(count / group);
  const [least, most] = [Math.ceil(needed / perNode), Math.min(needed, available)];
  return Array.from({ length: Math.max(0, most - least + 1) }, (_, at) => least + at);
}

/** CPUs from each node, in groups. */
function evenPart(count: number, nodes: number, group: number): number {
  return Math.floor(Math.floor(count / nodes) / group) * group;
}

function bestShare(
  taking: FreeCpus,
  nodes: readonly number[],
  { size, count, group }: Amount & { readonly size: number },
): Share | undefined {
  const byNode = taking.freeBy('node');
  const free = new Map(nodes.map((node) => [node, byNode.get(node)?.length ?? 0]));
  let best: Share | undefined;
  combinations(nodes, size, (some) => {
    if (best?.balance === 0) return false;
    const found = shareOf(free, some, { count, group });
    if (found !== undefined && (best === undefined || found.balance < best.balance)) best = found;
    return true;
  });
  return best;
}

/** Undefined: these nodes cannot provide the CPUs. */
function shareOf(
  free: ReadonlyMap<number, number>,
  nodes: readonly number[],
  { count, group }: Amount,
): Share | undefined {
  const freeOf = (node: number) => free.get(node) ?? 0;
  const groups = sum(nodes.map((node) => Math.floor(freeOf(node) / group)));
  const part = evenPart(count, nodes.length, group);
  if (groups * group < count || nodes.some((node) => freeOf(node) < part)) return undefined;
  const left = new Map(free);
  for (const node of nodes) left.set(node, freeOf(node) - part);
  const rest = count - part * nodes.length;
  if (rest === 0) return { nodes, rest: [], balance: deviation([...left.values()]) };
  return bestRest(left, nodes, { rest, group });
}

/** From as many nodes as possible if several sets leave the machine as even. */
function bestRest(
  left: ReadonlyMap<number, number>,
  nodes: readonly number[],
  { rest, group }: { readonly rest: number; readonly group: number },
): Share | undefined {
  const able = nodes.filter((node) => (left.get(node) ?? 0) >= group);
  let best: Share | undefined;
  for (let size = able.length; size >= 1; size -= 1) {
    combinations(able, size, (some) => {
      const after = withoutRest(left, some, { rest, group });
      const balance = after === undefined ? Infinity : deviation([...after.values()]);
      if (balance < (best?.balance ?? Infinity)) best = { nodes, rest: some, balance };
      return true;
    });
  }
  return best;
}

/** What is left when the nodes give the rest by turns, a group each time; undefined: they cannot. */
function withoutRest(
  left: ReadonlyMap<number, number>,
  nodes: readonly number[],
  { rest, group }: { readonly rest: number; readonly group: number },
): ReadonlyMap<number, number> | undefined {
  const after = new Map(left);
  if (sum(nodes.map((node) => after.get(node) ?? 0)) < rest) return undefined;
  let missing = rest;
  while (missing > 0) {
    const before = missing;
    for (const node of nodes) {
      const has = after.get(node) ?? 0;
      if (missing === 0 || has < group) continue;
      after.set(node, has - group);
      missing -= group;
    }
    if (missing === before) return undefined;
  }
  return after;
}

function sharedCpus(
  machine: Machine,
  taking: FreeCpus,
  { nodes, rest }: Share,
  options: TakeOptions & Amount,
): CpuSet | NoCpus {
  const { count, group } = options;
  const takeFrom = (node: number, some: number) => {
    const cpus = packedCpus(machine, taking.freeBy('node').get(node) ?? [], some, options);
    if (!('problem' in cpus)) taking.take(cpus);
  };
  const part = evenPart(count, nodes.length, group);
  for (const node of nodes) takeFrom(node, part);
  let missing = count - part * nodes.length;
  while (missing > 0) {
    const before = missing;
    for (const node of rest) {
      if (missing === 0 || (taking.freeBy('node').get(node)?.length ?? 0) < group) continue;
      takeFrom(node, group);
      missing -= group;
    }
    if (missing === before) break;
  }
  if (taking.needed > 0) {
    return { problem: `accounting error, not enough CPUs allocated, remaining: ${taking.needed}` };
  }
  return taking.taken();
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, one) => total + one, 0);
}

/** The standard deviation, rounded to thousandths like the mean from which it is taken. */
function deviation(numbers: readonly number[]): number {
  const mean = thousandths(sum(numbers) / numbers.length);
  return thousandths(Math.sqrt(sum(numbers.map((one) => (one - mean) * (one - mean))) / numbers.length));
}

function thousandths(value: number): number {
  return Math.round(value * 1000) / 1000;
}
