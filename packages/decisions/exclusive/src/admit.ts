import type { CpuSet } from './cpu-set.ts';
import { containerCpuHints, podCpuHints } from './cpu/hints.ts';
import { type CpuRefusal, allocatedCpus, nextReusableCpus, releasedCpus } from './cpu/policy.ts';
import type { Ledger } from './ledger.ts';
import { allocatedPodCpus } from './cpu/whole.ts';
import { containerMemoryHints, podMemoryHints } from './memory/hints.ts';
import { type NoMemory, allocatedMemory, releasedMemory } from './memory/policy.ts';
import { type ReusableMemory, nextReusableMemory } from './memory/reusable.ts';
import { allocatedPodMemory } from './memory/whole.ts';
import type { ContainerRequest, PodRequest } from './request.ts';
import type { ExclusiveSetup } from './setup.ts';
import { type Affinity, type Merging, type ResourceHints, isAdmitted, mergedAffinity } from './topology/hint.ts';

/** Whether a pod gets its exclusive things, and who has what afterwards. */
export interface Admission {
  /** With the pod's things; without any of them, also those that it had before, if it is refused. */
  readonly ledger: Ledger;
  /** Undefined: it is admitted. */
  readonly refusal: Refusal | undefined;
}

/** `status.reason` and `status.message` of a refused pod, as the reference kubelet writes them. */
export interface Refusal {
  readonly reason:
    'EmptyPodSharedPoolError' | 'SMTAlignmentError' | 'TopologyAffinityError' | 'UnexpectedAdmissionError';
  readonly message: string;
  /** The manager that refuses. */
  readonly by: 'topology' | 'cpu' | 'memory';
  /** That is refused; undefined: the pod as a whole. */
  readonly container: string | undefined;
  /** What the providers said of the container or the pod that is refused; undefined: no topology policy. */
  readonly merge: Merge | undefined;
}

/** The hints of all providers, and what became of them. */
export interface Merge {
  /** Undefined: of the pod as a whole. */
  readonly container: string | undefined;
  readonly resources: readonly ResourceHints[];
  readonly affinity: Affinity;
}

/** What of the pod's init containers later ones can have. */
interface Reusable {
  readonly cpus: CpuSet;
  readonly memory: ReusableMemory;
}

/** A pod whose containers get their things one after another. */
export interface PodAdmission {
  readonly pod: PodRequest;
  /** The one of the whole pod (topologyManagerScope `pod`); undefined: each container has its own. */
  readonly merge: Merge | undefined;
  readonly reusable: Reusable;
}

const ANYWHERE: Affinity = { mask: undefined, preferred: false };

/**
 * Allocates the CPUs and the memory of a pod's containers in the order in which they start, each on the NUMA nodes that suit all
 * (behaviour:resource-managers). A container that has its things keeps them, so that a pod can be admitted again.
 */
export function admitted(setup: ExclusiveSetup, ledger: Ledger, pod: PodRequest): Admission {
  const begun = podAdmission(setup, ledger, pod);
  if ('refusal' in begun) return { ledger: withoutPod(ledger, pod.uid), refusal: begun.refusal };
  let [next, admission]: [Ledger, PodAdmission] = [ledger, begun];
  for (const container of pod.containers) {
    const step = containerAdmission(setup, next, { admission, container });
    next = step.ledger;
    if (step.refusal !== undefined) return { ledger: withoutPod(next, pod.uid), refusal: step.refusal };
    admission = step.admission;
  }
  return { ledger: next, refusal: undefined };
}

/**
 * Begins to admit a pod, whose containers follow one by one in {@link containerAdmission}.
 *
 * @param devices hints for the devices of the whole pod
 */
export function podAdmission(
  setup: ExclusiveSetup,
  ledger: Ledger,
  pod: PodRequest,
  devices: () => readonly ResourceHints[] = () => [],
): PodAdmission | { readonly refusal: Refusal } {
  const { topology } = setup;
  const reusable: Reusable = { cpus: [], memory: {} };
  if (topology?.scope !== 'pod') return { pod, merge: undefined, reusable };
  const resources = [...devices(), ...podHints(setup, ledger, pod)];
  const merge = merged(topology, resources, undefined);
  return isAdmitted(topology, merge.affinity) ? { pod, merge, reusable } : { refusal: nowhere(merge, pod) };
}

/** What a container gets, and the pod's admission afterwards. */
export interface ContainerAdmission extends Admission {
  readonly admission: PodAdmission;
  /** The nodes for its devices, too. */
  readonly affinity: Affinity;
}

/**
 * Allocates the CPUs and the memory of the next container; of all containers at the first one, where a pod gets them as a whole.
 *
 * @param step.devices hints for its devices
 */
export function containerAdmission(
  setup: ExclusiveSetup,
  ledger: Ledger,
  step: {
    readonly admission: PodAdmission;
    readonly container: ContainerRequest;
    readonly devices?: () => readonly ResourceHints[];
  },
): ContainerAdmission {
  const { topology } = setup;
  const { admission, container, devices = () => [] } = step;
  const { pod, reusable } = admission;
  const merge = admission.merge ?? containerMerge(setup, ledger, { pod, container, reusable }, devices);
  const affinity = merge?.affinity ?? ANYWHERE;
  if (topology !== undefined && merge !== undefined && !isAdmitted(topology, affinity)) {
    return { ledger, refusal: nowhere(merge, pod), admission, affinity };
  }
  const isWhole = admission.merge !== undefined && pod.whole !== undefined;
  const given = isWhole
    ? allocatedWhole(setup, ledger, { pod, affinity })
    : allocated(setup, ledger, { pod, container, affinity, reusable });
  const refusal = given.refusal && { ...given.refusal, merge, container: isWhole ? undefined : container.name };
  if (isWhole) return { ledger: given.ledger, refusal, admission, affinity };
  const next = nextReusable(setup, given.ledger, { pod, container, reusable });
  return { ledger: given.ledger, refusal, admission: { ...admission, reusable: next }, affinity };
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

function podHints({ machine, cpu, memory }: ExclusiveSetup, ledger: Ledger, pod: PodRequest): readonly ResourceHints[] {
  const cpuHints = cpu === undefined ? [] : [{ resource: 'cpu', hints: podCpuHints(cpu, ledger, pod) }];
  return [...cpuHints, ...(memory === undefined ? [] : podMemoryHints(machine, ledger, pod))];
}

function containerMerge(
  setup: ExclusiveSetup,
  ledger: Ledger,
  { pod, container, reusable }: Step,
  devices: () => readonly ResourceHints[],
): Merge | undefined {
  const { machine, cpu, memory, topology } = setup;
  if (topology === undefined) return undefined;
  const { uid } = pod;
  const cpuHints =
    cpu === undefined
      ? []
      : [{ resource: 'cpu', hints: containerCpuHints(cpu, ledger, { uid, container, reusable: reusable.cpus }) }];
  const memoryHints =
    memory === undefined ? [] : containerMemoryHints(machine, ledger, { uid, container, reusable: reusable.memory });
  return merged(topology, [...devices(), ...cpuHints, ...memoryHints], container.name);
}

function merged(topology: Merging, resources: readonly ResourceHints[], container: string | undefined): Merge {
  const lists = resources.map(({ hints }) => hints);
  return { container, resources, affinity: mergedAffinity(topology, lists) };
}

function nowhere(merge: Merge, { whole }: PodRequest): Refusal {
  const scope =
    merge.container === undefined ? 'under pod-scope topology manager' : 'with a container-level topology manager';
  const message =
    whole === undefined
      ? 'Resources cannot be allocated with Topology locality'
      : `Pod Scope pod with pod-level resources failed admission ${scope}`;
  return { reason: 'TopologyAffinityError', message, by: 'topology', merge, container: merge.container };
}

/** A refusal by one manager. */
type OwnRefusal = Omit<Refusal, 'merge' | 'container'>;

/** What became of a container's request, before it is said what the providers had said of it. */
interface Allocation {
  readonly ledger: Ledger;
  readonly refusal: OwnRefusal | undefined;
}

function allocated(
  { cpu, memory }: ExclusiveSetup,
  ledger: Ledger,
  { pod, container, reusable, affinity }: Step & { readonly affinity: Affinity },
): Allocation {
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

/** The CPUs and the memory of a pod as a whole, which all of its containers then have. */
function allocatedWhole(
  { cpu, memory }: ExclusiveSetup,
  ledger: Ledger,
  { pod, affinity }: { readonly pod: PodRequest; readonly affinity: Affinity },
): Allocation {
  const { whole } = pod;
  if (whole === undefined) return { ledger, refusal: undefined };
  const withCpus = cpu === undefined ? ledger : allocatedPodCpus(cpu, ledger, { pod, whole, affinity: affinity.mask });
  if ('problem' in withCpus) return { ledger, refusal: refusalOf(withCpus, 'cpu') };
  const withBoth = memory === undefined ? withCpus : allocatedPodMemory(memory, withCpus, { pod, whole, affinity });
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

function refusalOf(found: CpuRefusal | NoMemory, by: Refusal['by']): OwnRefusal {
  if ('reason' in found && found.reason !== undefined) return { reason: found.reason, message: found.problem, by };
  const message = `Allocate failed due to ${found.problem}, which is unexpected`;
  return { reason: 'UnexpectedAdmissionError', message, by };
}
