import { type CpuSet, union } from '../cpu-set.ts';
import { emptyCpuPool } from '../empty-pool.ts';
import { type Ledger, entryOf, wholeOf } from '../ledger.ts';
import { type Machine, cpuNodes } from '../machine.ts';
import { type ContainerRequest, type PodRequest, podCpus } from '../request.ts';
import { type Hint, type Hints, type NodeMask, nodeCount, nodeSets } from '../topology/hint.ts';
import { maskOf } from '../topology/nodes.ts';
import { type CpuPolicy, availableCpus } from './policy.ts';

/** Sets of nodes that have the CPUs of a container. One that has CPUs already gets hints for those. */
export function containerCpuHints(
  policy: CpuPolicy,
  ledger: Ledger,
  {
    uid,
    container,
    reusable,
  }: { readonly uid: string; readonly container: ContainerRequest; readonly reusable: CpuSet },
): Hints {
  const { cpus: count, name } = container;
  if (count === 0) return undefined;
  const given = entryOf(ledger.cpus, uid, name);
  if (given !== undefined) return given.length === count ? cpuHints(policy, { free: given, bound: [], count }) : [];
  return cpuHints(policy, { free: availableCpus(policy, ledger), bound: reusable, count });
}

/** Sets of nodes that have the CPUs of a pod as a whole. */
export function podCpuHints(policy: CpuPolicy, ledger: Ledger, pod: PodRequest): Hints {
  const count = podCpus(pod);
  if (count === 0) return undefined;
  if (pod.whole !== undefined) {
    if (emptyCpuPool(pod, pod.whole) !== undefined) return [];
    const given = wholeOf(ledger.podCpus, pod.uid);
    if (given === undefined) return cpuHints(policy, { free: availableCpus(policy, ledger), bound: [], count });
    return given.length === count ? cpuHints(policy, { free: given, bound: [], count }) : [];
  }
  const had = pod.containers.flatMap(({ name, cpus }) => {
    const given = entryOf(ledger.cpus, pod.uid, name);
    return given === undefined ? [] : [{ given, isRequested: given.length === cpus }];
  });
  if (had.some(({ isRequested }) => !isRequested)) return [];
  const given = union(...had.map((one) => one.given));
  if (given.length === count) return cpuHints(policy, { free: given, bound: [], count });
  return cpuHints(policy, { free: availableCpus(policy, ledger), bound: given, count });
}

/** CPUs of `bound` must be on the nodes, those of `free` can be. */
function cpuHints(
  policy: CpuPolicy,
  { free, bound, count }: { readonly free: CpuSet; readonly bound: CpuSet; readonly count: number },
): Hints {
  const { machine, options } = policy;
  const nodes = cpuNodes(machine);
  const on = perNode(machine);
  const size = (mask: NodeMask, cpus: CpuSet) => on(cpus, mask);
  const all = machine.cpus.map(({ id }) => id);
  let fewest = nodes.length;
  const found: NodeMask[] = [];
  for (const mask of nodeSets(maskOf(machine, nodes))) {
    if (size(mask, all) >= count) fewest = Math.min(fewest, nodeCount(mask));
    const boundHere = size(mask, bound);
    if (boundHere === bound.length && boundHere + size(mask, free) >= count) found.push(mask);
  }
  const isPreferred = (mask: NodeMask) =>
    nodeCount(mask) === fewest || (options.bySocket && isSocketAligned(machine, mask, fewest));
  return found.map((mask): Hint => ({ mask, preferred: isPreferred(mask) }));
}

/** How many CPUs of a set are on the nodes of a mask; each set is counted once. */
function perNode(machine: Machine): (cpus: CpuSet, mask: NodeMask) => number {
  const counted = new Map<CpuSet, readonly number[]>();
  const countsOf = (cpus: CpuSet) => {
    const has = new Set(cpus);
    return machine.nodes.map(({ id }) => machine.cpus.filter((cpu) => cpu.node === id && has.has(cpu.id)).length);
  };
  return (cpus, mask) => {
    const counts = counted.get(cpus) ?? countsOf(cpus);
    counted.set(cpus, counts);
    return counts.reduce((sum, count, at) => ((mask & (1 << at)) === 0 ? sum : sum + count), 0);
  };
}

/** The nodes are on no more sockets than the CPUs need. */
function isSocketAligned(machine: Machine, mask: NodeMask, fewest: number): boolean {
  const perSocket = Math.floor(cpuNodes(machine).length / machine.sockets);
  if (perSocket === 0) return false;
  const on = machine.cpus.filter(({ node }) => (maskOf(machine, [node]) & mask) !== 0);
  return new Set(on.map(({ socket }) => socket)).size === Math.ceil(fewest / perSocket);
}
