import { type CpuSet, cpuSet } from './cpu-set.ts';

/** A logical CPU that is online, and its place. */
export interface Cpu {
  readonly id: number;
  /** The lowest number of a CPU of its core. */
  readonly core: number;
  readonly socket: number;
  /** Its NUMA node. */
  readonly node: number;
  /** The last-level cache that it shares with a part of its NUMA node; the number of its socket where there is none. */
  readonly cache: number;
}

/** A NUMA node. */
interface NumaNode {
  readonly id: number;
  /** Bytes, including those of huge pages. */
  readonly memory: number;
  /** To each node of the machine, in their order. */
  readonly distances: readonly number[];
  /** Sizes in bytes. */
  readonly hugePages: readonly { readonly size: number; readonly count: number }[];
}

/** What the resource managers know of a machine. Offline CPUs are not part of it. */
export interface Machine {
  /** By number. */
  readonly cpus: readonly Cpu[];
  /** By number. */
  readonly nodes: readonly NumaNode[];
  readonly sockets: number;
}

/** What CPUs have in common. */
export type Unit = 'core' | 'socket' | 'node' | 'cache';

/** The numbers of CPUs with this place, by number of the place. */
export function cpusBy(cpus: Iterable<Cpu>, unit: Unit): ReadonlyMap<number, CpuSet> {
  const found = new Map<number, number[]>();
  for (const cpu of cpus) {
    const those = found.get(cpu[unit]);
    if (those === undefined) found.set(cpu[unit], [cpu.id]);
    else those.push(cpu.id);
  }
  return found;
}

export function allCpus({ cpus }: Machine): CpuSet {
  return cpuSet(cpus.map(({ id }) => id));
}

/** CPUs of a core, on average and rounded down: the group in which full-pcpus-only allocates. */
export function cpusPerCore({ cpus }: Machine): number {
  return Math.floor(cpus.length / new Set(cpus.map(({ core }) => core)).size);
}

/** NUMA nodes that have CPUs, ascending. */
export function cpuNodes({ cpus }: Machine): CpuSet {
  return cpuSet(cpus.map(({ node }) => node));
}
