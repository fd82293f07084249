import { type CpuSet, cpuSetText, difference, intersection, isSame, union } from '../cpu-set.ts';
import { type Ledger, entriesOf, entryOf, wholeOf, withEntry, withoutEntry, withoutWhole } from '../ledger.ts';
import { type Machine, cpusPerCore } from '../machine.ts';
import type { ContainerRequest } from '../request.ts';
import type { NodeMask } from '../topology/hint.ts';
import { nodesOf } from '../topology/nodes.ts';
import { distributedCpus } from './distributed.ts';
import type { CpuOptions } from './options.ts';
import { type NoCpus, packedCpus } from './packed.ts';

/** The CPU manager with the policy `static`, on a machine. */
export interface CpuPolicy {
  readonly machine: Machine;
  readonly options: CpuOptions;
  /** Never allocated. */
  readonly reserved: CpuSet;
  /** All CPUs of the cores of reserved ones. */
  readonly reservedCores: CpuSet;
}

/** Why a container does not get its CPUs: the reason of the admission's refusal, and its message. */
export interface CpuRefusal {
  readonly reason: 'EmptyPodSharedPoolError' | 'SMTAlignmentError' | undefined;
  readonly problem: string;
}

/** What a container gets, for its NUMA nodes, beside the CPUs that its pod's init containers had. */
export interface CpuQuestion {
  readonly uid: string;
  readonly container: ContainerRequest;
  /** Undefined: any. */
  readonly affinity: NodeMask | undefined;
  readonly reusable: CpuSet;
}

/** CPUs that no container has and that can be allocated. */
export function availableCpus({ reserved }: Pick<CpuPolicy, 'reserved'>, { shared }: Ledger): CpuSet {
  return difference(shared, reserved);
}

/** The ledger with the container's CPUs. A container that has CPUs keeps them. */
export function allocatedCpus(
  policy: CpuPolicy,
  ledger: Ledger,
  { uid, container, affinity, reusable }: CpuQuestion,
): Ledger | CpuRefusal {
  const { name, cpus: count } = container;
  if (count === 0) return ledger;
  const refusal = smtRefusal(policy, ledger, count);
  if (refusal !== undefined) return refusal;
  if (entryOf(ledger.cpus, uid, name) !== undefined) return ledger;
  const free = union(availableCpus(policy, ledger), reusable);
  const given = nearCpus(policy, free, { affinity, count });
  if ('problem' in given) return { reason: undefined, problem: given.problem };
  return { ...ledger, shared: difference(ledger.shared, given), cpus: withEntry(ledger.cpus, uid, name, given) };
}

/** As many of the free CPUs, on the nodes as far as these have them. */
export function nearCpus(
  policy: CpuPolicy,
  free: CpuSet,
  { affinity, count }: { readonly affinity: NodeMask | undefined; readonly count: number },
): CpuSet | NoCpus {
  const near = affinity === undefined ? [] : alignedCpus(policy, free, affinity);
  const first = takenCpus(policy, near, Math.min(near.length, count));
  if ('problem' in first) return first;
  const others = takenCpus(policy, difference(free, first), count - first.length);
  return 'problem' in others ? others : union(first, others);
}

/** The CPUs that later containers of the pod may have, after this container has its own. */
export function nextReusableCpus(
  ledger: Ledger,
  { uid, container, reusable }: Pick<CpuQuestion, 'uid' | 'container' | 'reusable'>,
): CpuSet {
  const given = entryOf(ledger.cpus, uid, container.name);
  if (given === undefined || container.cpus === 0) return reusable;
  return container.kind === 'init' ? union(reusable, given) : difference(reusable, given);
}

/**
 * The ledger without a container's CPUs; those that another container of its pod has too are not free. CPUs of a pod as a whole are free
 * when its last container has none.
 */
export function releasedCpus(ledger: Ledger, uid: string, container: string): Ledger {
  const given = entryOf(ledger.cpus, uid, container);
  if (given === undefined) return ledger;
  const cpus = withoutEntry(ledger.cpus, uid, container);
  const whole = wholeOf(ledger.podCpus, uid);
  if (whole !== undefined) {
    if (Object.keys(entriesOf(cpus, uid)).length > 0) return { ...ledger, cpus };
    return { ...ledger, cpus, podCpus: withoutWhole(ledger.podCpus, uid), shared: union(ledger.shared, whole) };
  }
  const kept = union(...Object.values(entriesOf(cpus, uid)));
  return { ...ledger, cpus, shared: union(ledger.shared, difference(given, kept)) };
}

/** CPUs as the options prefer them. */
export function takenCpus({ machine, options }: CpuPolicy, free: CpuSet, count: number): CpuSet | NoCpus {
  const { acrossNodes, acrossCores, fullCores, byCache } = options;
  const take = { spread: acrossCores, byCache };
  if (!acrossNodes) return packedCpus(machine, free, count, take);
  return distributedCpus(machine, free, count, { ...take, group: fullCores ? cpusPerCore(machine) : 1 });
}

/** Why the ledger cannot be used with this policy on this machine, in the reference kubelet's words; undefined: it can. */
export function cpuLedgerProblem({ machine, options, reserved }: CpuPolicy, ledger: Ledger): string | undefined {
  const { shared, cpus, podCpus } = ledger;
  const every = machine.cpus.map(({ id }) => id);
  const all = options.strictReservation ? difference(every, reserved) : every;
  const text = (set: CpuSet) => JSON.stringify(cpuSetText(set));
  const lent = intersection(reserved, shared);
  if (options.strictReservation && lent.length > 0) {
    return `some of strictly reserved cpus: ${text(lent)} are present in defaultCpuSet: ${text(shared)}`;
  }
  if (!options.strictReservation && !isSame(lent, reserved)) {
    return `not all reserved cpus: ${text(reserved)} are present in defaultCpuSet: ${text(shared)}`;
  }
  const given = Object.entries(cpus).flatMap(([pod, containers]) =>
    Object.entries(containers).map(([container, set]) => ({ pod, container, set })),
  );
  const shares = given.find(({ set }) => intersection(shared, set).length > 0);
  if (shares !== undefined) {
    const { pod, container, set } = shares;
    return `pod: ${pod}, container: ${container} cpuset: ${text(set)} overlaps with default cpuset ${text(shared)}`;
  }
  const known = union(shared, ...given.map(({ set }) => set), ...Object.values(podCpus));
  if (isSame(known, all)) return undefined;
  return `current set of available CPUs ${text(all)} doesn't match with CPUs in state ${text(known)}`;
}

/** Why this number of CPUs is not of whole cores, where the options ask for that. */
export function smtRefusal(
  { machine, options, reservedCores }: CpuPolicy,
  { shared }: Ledger,
  count: number,
): CpuRefusal | undefined {
  if (!options.fullCores) return undefined;
  const perCore = cpusPerCore(machine);
  const reason = 'SMTAlignmentError';
  if (count % perCore !== 0) {
    const problem = `SMT Alignment Error: requested ${count} cpus not multiple cpus per core = ${perCore}`;
    return { reason, problem };
  }
  const free = difference(shared, reservedCores).length;
  if (count <= free) return undefined;
  const amounts = `available physical CPUs = ${free}, requested CPUs = ${count}, CPUs per core = ${perCore}`;
  return { reason, problem: `SMT Alignment Error: not enough free physical CPUs: ${amounts}` };
}

/** Those on the nodes, or with align-by-socket on the sockets of the nodes. */
function alignedCpus({ machine, options }: CpuPolicy, free: CpuSet, affinity: NodeMask): CpuSet {
  const nodes = nodesOf(machine, affinity);
  const on = machine.cpus.filter(({ node }) => nodes.includes(node));
  const sockets = new Set(on.map(({ socket }) => socket));
  const near = options.bySocket ? machine.cpus.filter(({ socket }) => sockets.has(socket)) : on;
  return intersection(
    free,
    near.map(({ id }) => id),
  );
}
