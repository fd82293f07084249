import type { Pod } from '@kubus/contracts';
import {
  type Block,
  type CpuSet,
  type Ledger,
  type Machine,
  type PodRequest,
  admitted,
  cpuSet,
  cpuSetText,
  cpuSharing,
  emptyLedger,
  exclusiveRequest,
  exclusiveSetup,
  memoryNodes,
  parseCpuSet,
  trialSettings,
  union,
} from '@kubus/exclusive';
import { qosClass } from '@kubus/pod';
import { podLevelOf } from '@kubus/service-kit';
import { UserError } from '../user-error.ts';

/** The settings of the node, and whether it manages memory. */
interface NodeSettings {
  readonly numaPolicy: string;
  readonly numaScope: string;
  readonly cpuOptions: readonly string[];
  /** A list of CPUs; undefined: one, as the CPU manager chooses it. */
  readonly reservedCpus: string | undefined;
}

/** What a container would ask for, and the settings of the node. */
export interface TrialRequest extends NodeSettings {
  readonly cpus: number;
  /** Bytes; undefined: the node does not manage memory. */
  readonly memory: number | undefined;
}

/** CPUs and NUMA nodes as lists; empty: none of its own. */
interface Share {
  readonly cpus: string;
  readonly cpuNodes: string;
  readonly memoryNodes: string;
}

/** Fields of the document AllocationTrial. */
export interface Trial extends Share {
  readonly admitted: boolean;
  readonly reason: string | undefined;
  readonly message: string | undefined;
  readonly reserved: string;
  readonly shared: string;
}

/** Fields of the document AllocationTrial, for a pod of a manifest. */
export interface PodTrial extends Trial {
  readonly qosClass: string;
  /** Undefined: it has nothing as a whole. */
  readonly pod: Share | undefined;
  /** None of a pod that is refused. */
  readonly containers: readonly ContainerTrial[];
}

/** On which CPUs a container would run, with whom, and from where its memory would come. */
interface ContainerTrial extends Share {
  readonly name: string;
  readonly sharing: ReturnType<typeof cpuSharing>;
}

/** What the only pod of a machine would get: one container, Guaranteed. Throws a UserError when a kubelet does not start with the settings. */
export function allocationTrial(machine: Machine, request: TrialRequest): Trial {
  const { cpus, memory } = request;
  const container = {
    name: 'app',
    kind: 'app' as const,
    cpus,
    memory: memory === undefined ? undefined : { memory },
  };
  return trial(machine, request, { memory: memory !== undefined, pod: { uid: 'trial', containers: [container] } })
    .answer;
}

/**
 * What the pod would get as the only one of a machine; with resources of its own as where the gate PodLevelResourceManagers is on. Throws a
 * UserError when a kubelet does not start with the settings.
 */
export function podTrial(
  machine: Machine,
  pod: Pick<Pod, 'metadata' | 'spec'>,
  { memory, ...settings }: NodeSettings & { readonly memory: boolean },
): PodTrial {
  const { uid } = pod.metadata;
  const { numaPolicy, numaScope } = settings;
  const topologyScope = numaScope === 'pod' ? 'pod' : 'container';
  const devices = { topologyPolicy: numaPolicy, topologyScope } as const;
  const podLevel = podLevelOf({ exclusive: { podLevel: true }, devices });
  const request = exclusiveRequest(pod, { cpus: true, memory, podLevel }) ?? { uid, containers: [] };
  const { answer, ledger } = trial(machine, settings, { memory, pod: request });
  const ofContainer = (name: string): ContainerTrial => {
    const sharing = cpuSharing(pod, podLevel, name);
    const cpus = sharing === 'node' ? ledger.shared : (ledger.cpus[uid]?.[name] ?? []);
    return { name, sharing, ...shareOf(machine, cpus, ledger.memory[uid]?.[name]) };
  };
  const [podCpus, podMemory] = [ledger.podCpus[uid], ledger.podMemory[uid]];
  const names = [...(pod.spec.initContainers ?? []), ...pod.spec.containers].map(({ name }) => name);
  return {
    ...answer,
    qosClass: qosClass(pod),
    pod: podCpus === undefined && podMemory === undefined ? undefined : shareOf(machine, podCpus ?? [], podMemory),
    containers: answer.admitted ? names.map(ofContainer) : [],
  };
}

function trial(
  machine: Machine,
  settings: NodeSettings,
  { memory, pod }: { readonly memory: boolean; readonly pod: PodRequest },
): { readonly answer: Trial; readonly ledger: Ledger } {
  const reserved = parseCpuSet(settings.reservedCpus ?? '');
  if (reserved === undefined) throw new UserError('--reserved-cpus: must be a list such as 0-3,8');
  const setup = exclusiveSetup(machine, trialSettings(machine, { ...settings, memory, reserved }));
  if ('problem' in setup) throw new UserError(setup.problem);
  const { ledger, refusal } = admitted(setup, emptyLedger(setup), pod);
  const cpus = union(...Object.values(ledger.cpus[pod.uid] ?? {}), ledger.podCpus[pod.uid] ?? []);
  const answer = {
    admitted: refusal === undefined,
    reason: refusal?.reason,
    message: refusal?.message,
    ...shareOf(machine, cpus, Object.values(ledger.memory[pod.uid] ?? {}).flat()),
    reserved: cpuSetText(setup.cpu?.reserved ?? []),
    shared: cpuSetText(ledger.shared),
  };
  return { answer, ledger };
}

function shareOf({ cpus: all }: Machine, cpus: CpuSet, blocks: readonly Block[] = []): Share {
  const on = all.filter(({ id }) => cpus.includes(id)).map(({ node }) => node);
  return {
    cpus: cpuSetText(cpus),
    cpuNodes: cpuSetText(cpuSet(on)),
    memoryNodes: cpuSetText(memoryNodes(blocks)),
  };
}
