import type { CpuSet } from './cpu-set.ts';
import { containerCpuHints, podCpuHints } from './cpu/hints.ts';
import { type CpuRefusal, allocatedCpus, nextReusableCpus, releasedCpus } from './cpu/policy.ts';
import type { Ledger } from './ledger.ts';
import { containerMemoryHints, podMemoryHints } from './memory/hints.ts';
import { type NoMemory, allocatedMemory, releasedMemory } from './memory/policy.ts';
import { type ReusableMemory, nextReusableMemory } from './memory/reusable.ts';
import type { ContainerRequest, PodRequest } from './request.ts';
import type { ExclusiveSetup } from './setup.ts';
import { type Affinity, type Hints, isAdmitted, mergedAffinity } from './topology/hint.ts';

/** Whether a pod gets its exclusive things, and who has what afterwards. */
export interface Admission {
  /** With the pod's things, or as it is after those that it got until it was refused were freed again. */
  readonly ledger: Ledger;
  /** Undefined: it is admitted. */
  readonly refusal: Refusal | undefined;
}

/** `status.reason` and `status.message` of a refused pod, as the reference kubelet writes them. */
interface Refusal {
  readonly reason: 'TopologyAffinityError' | 'SMTAlignmentError' | 'UnexpectedAdmissionError';
  readonly message: string;
  /** The manager that refuses. */
  readonly by: 'topology' | 'cpu' | 'memory';
}

/** What of the pod's init containers later ones can have. */
interface Reusable {
  readonly cpus: CpuSet;
  readonly memory: ReusableMemory;
}

const NOWHERE: Refusal = {
  reason: 'TopologyAffinityError',
  message: 'Resources cannot be allocated with Topology locality',
  by: 'topology',
};
const ANYWHERE: Affinity = { mask: undefined, preferred: false };

/**
 * Allocates the CPUs and the memory of a pod's containers in the order in which they start, each on the NUMA nodes that suit all
 * (behaviour:resource-managers). A container that has its things keeps them, so that a pod can be admitted again.
 */
export function admitted(setup: ExclusiveSetup, ledger: Ledger, pod: PodRequest): Admission {
  const { topology } = setup;
  const forPod = topology?.scope === 'pod' ? mergedAffinity(topology, podHints(setup, ledger, pod)) : undefined;
  if (topology !== undefined && forPod !== undefined && !isAdmitted(topology, forPod)) {
    return { ledger, refusal: NOWHERE };
  }
  let next = ledger;
  let reusable: Reusable = { cpus: [], memory: {} };
  const refused = (refusal: Refusal): Admission => ({ ledger: withoutPod(next, pod.uid), refusal });
  for (const container of pod.containers) {
    const affinity = forPod ?? containerAffinity(setup, next, { pod, container, reusable });
    if (topology !== undefined && !isAdmitted(topology, affinity)) return refused(NOWHERE);
    const given = allocated(setup, next, { pod, container, affinity, reusable });
    next = given.ledger;
    if (given.refusal !== undefined) return refused(given.refusal);
    reusable = nextReusable(setup, next, { pod, container, reusable });
  }
  return { ledger: next, refusal: undefined };
}

/** The ledger when a container of a pod is gone for good. */
export function withoutContainer(ledger: Ledger, uid: string, container: string): Ledger {
  return releasedMemory(releasedCpus(ledger, uid, container), uid, container);
}

/** The ledger when a pod is gone. */
export function withoutPod(ledger: Ledger, uid: string): Ledger {
  const names = [ledger.cpus, ledger.memory].flatMap((all) => Object.keys(all[uid] ?? {}));
  return [...new Set(names)].reduce((next, name) => withoutContainer(next, uid, name), ledger);
}

/**
 * The ledger when a container of the pod has been created: the memory of init containers before it is free for other pods, as they
 * have ended.
 */
export function withoutEndedMemory(ledger: Ledger, { uid, containers }: PodRequest, created: string): Ledger {
  const before = containers.slice(
    0,
    containers.findIndex(({ name }) => name === created),
  );
  return before
    .filter(({ kind }) => kind === 'init')
    .reduce((next, { name }) => releasedMemory(next, uid, name), ledger);
}

interface Step {
  readonly pod: PodRequest;
  readonly container: ContainerRequest;
  readonly reusable: Reusable;
}

function podHints({ machine, cpu, memory }: ExclusiveSetup, ledger: Ledger, pod: PodRequest): readonly Hints[] {
  const cpuHints = cpu === undefined ? [] : [podCpuHints(cpu, ledger, pod)];
  return [...cpuHints, ...(memory === undefined ? [] : podMemoryHints(machine, ledger, pod))];
}

function containerAffinity(setup: ExclusiveSetup, ledger: Ledger, { pod, container, reusable }: Step): Affinity {
  const { machine, cpu, memory, topology } = setup;
  if (topology === undefined) return ANYWHERE;
  const { uid } = pod;
  const cpuHints =
    cpu === undefined ? [] : [containerCpuHints(cpu, ledger, { uid, container, reusable: reusable.cpus })];
  const memoryHints =
    memory === undefined ? [] : containerMemoryHints(machine, ledger, { uid, container, reusable: reusable.memory });
  return mergedAffinity(topology, [...cpuHints, ...memoryHints]);
}

function allocated(
  { cpu, memory }: ExclusiveSetup,
  ledger: Ledger,
  { pod, container, reusable, affinity }: Step & { readonly affinity: Affinity },
): Admission {
  const withCpus =
    cpu === undefined
      ? ledger
      : allocatedCpus(cpu, ledger, { uid: pod.uid, container, affinity: affinity.mask, reusable: reusable.cpus });
  if ('problem' in withCpus) return { ledger, refusal: refusalOf(withCpus, 'cpu') };
  const withBoth =
    memory === undefined
      ? withCpus
      : allocatedMemory(memory, withCpus, { pod, container, affinity, reusable: reusable.memory });
  if ('problem' in withBoth) return { ledger: withCpus, refusal: refusalOf(withBoth, 'memory') };
  return { ledger: withBoth, refusal: undefined };
}

function nextReusable({ machine }: ExclusiveSetup, ledger: Ledger, { pod, container, reusable }: Step): Reusable {
  const { uid } = pod;
  return {
    cpus: nextReusableCpus(ledger, { uid, container, reusable: reusable.cpus }),
    memory: nextReusableMemory(machine, ledger, { uid, container, reusable: reusable.memory }),
  };
}

function refusalOf(found: CpuRefusal | NoMemory, by: Refusal['by']): Refusal {
  if ('reason' in found && found.reason !== undefined) return { reason: found.reason, message: found.problem, by };
  const message = `Allocate failed due to ${found.problem}, which is unexpected`;
  return { reason: 'UnexpectedAdmissionError', message, by };
}
