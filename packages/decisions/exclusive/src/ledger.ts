import { type CpuSet, cpuSet } from './cpu-set.ts';

/** Memory of one kind on one NUMA node, in bytes. */
export interface MemoryTable {
  readonly total: number;
  readonly systemReserved: number;
  readonly allocatable: number;
  readonly reserved: number;
  readonly free: number;
}

/** What is allocated of a NUMA node's memory. */
export interface NodeMemory {
  /** One for each container and kind of memory. */
  readonly numberOfAssignments: number;
  /** By resource (`memory`, `hugepages-2Mi`). */
  readonly memoryMap: Readonly<Record<string, MemoryTable>>;
  /** The nodes from which containers get memory together with this one; the node alone if there are none. */
  readonly cells: readonly number[];
}

/** A container's memory of one kind. */
export interface Block {
  readonly numaAffinity: readonly number[];
  /** The resource. */
  readonly type: string;
  /** Bytes. Less than requested if the container's memory is that of an init container, whose block has the rest. */
  readonly size: number;
}

/** The NUMA nodes that the memory is from. */
export function memoryNodes(blocks: readonly Block[]): CpuSet {
  return cpuSet(blocks.flatMap(({ numaAffinity }) => numaAffinity));
}

type ByContainer<T> = Readonly<Record<string, Readonly<Record<string, T>>>>;

/** Who has what of a node's exclusive things. CPUs and memory by pod UID and container name. */
export interface Ledger {
  /** CPUs that no container has for itself; reserved ones are among them unless strict-cpu-reservation is set. */
  readonly shared: CpuSet;
  readonly cpus: ByContainer<CpuSet>;
  /** All CPUs of the pods that have theirs as a whole, by UID; those of their containers are among them. */
  readonly podCpus: Readonly<Record<string, CpuSet>>;
  /** By the number of the NUMA node. Empty: memory is not managed. */
  readonly nodes: Readonly<Record<string, NodeMemory>>;
  readonly memory: ByContainer<readonly Block[]>;
  /** All memory of the pods that have theirs as a whole, by UID; only this is taken from the nodes, not that of their containers. */
  readonly podMemory: Readonly<Record<string, readonly Block[]>>;
}

export function entryOf<T>(all: ByContainer<T>, uid: string, container: string): T | undefined {
  return Object.hasOwn(all, uid) ? own(all[uid] ?? {}, container) : undefined;
}

export function withEntry<T>(all: ByContainer<T>, uid: string, container: string, entry: T): ByContainer<T> {
  const others = Object.hasOwn(all, uid) ? all[uid] : {};
  return { ...all, [uid]: { ...others, [container]: entry } };
}

export function withoutEntry<T>(all: ByContainer<T>, uid: string, container: string): ByContainer<T> {
  const { [uid]: pod = {}, ...others } = all;
  const { [container]: _, ...rest } = pod;
  return Object.keys(rest).length === 0 ? others : { ...others, [uid]: rest };
}

/** What a pod has as a whole. */
export function wholeOf<T>(all: Readonly<Record<string, T>>, uid: string): T | undefined {
  return own(all, uid);
}

/** Without what a pod has as a whole. */
export function withoutWhole<T>(all: Readonly<Record<string, T>>, uid: string): Readonly<Record<string, T>> {
  const { [uid]: _, ...others } = all;
  return others;
}

/** Entries by container of a pod. */
export function entriesOf<T>(all: ByContainer<T>, uid: string): Readonly<Record<string, T>> {
  return Object.hasOwn(all, uid) ? (all[uid] ?? {}) : {};
}

function own<T>(record: Readonly<Record<string, T>>, key: string): T | undefined {
  return Object.hasOwn(record, key) ? record[key] : undefined;
}
