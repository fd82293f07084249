import {
  type CpuSet,
  type ExclusiveSettings,
  type Machine,
  admitted,
  cpuSet,
  cpuSetText,
  emptyLedger,
  exclusiveSetup,
  parseCpuSet,
} from '@kubus/exclusive';
import { UserError } from '../user-error.ts';

/** What a container would ask for, and the settings of the node. */
export interface TrialRequest {
  readonly cpus: number;
  /** Bytes; undefined: the node does not manage memory. */
  readonly memory: number | undefined;
  readonly numaPolicy: string;
  readonly numaScope: string;
  readonly cpuOptions: readonly string[];
  /** A list of CPUs; undefined: one, as the CPU manager chooses it. */
  readonly reservedCpus: string | undefined;
}

/** Fields of the document AllocationTrial. */
export interface Trial {
  readonly admitted: boolean;
  readonly reason: string | undefined;
  readonly message: string | undefined;
  readonly cpus: string;
  readonly cpuNodes: string;
  readonly memoryNodes: string;
  readonly reserved: string;
  readonly shared: string;
}

/** What the hard eviction threshold reserves by default; the memory manager needs some. */
const RESERVED_MEMORY = 100 * 2 ** 20;

/** What the only pod of a machine would get: one container, Guaranteed. Throws a UserError when a kubelet does not start with the settings. */
export function allocationTrial(machine: Machine, request: TrialRequest): Trial {
  const reserved = parseCpuSet(request.reservedCpus ?? '');
  if (reserved === undefined) throw new UserError('--reserved-cpus: must be a list such as 0-3,8');
  const setup = exclusiveSetup(machine, settingsOf(machine, request, reserved));
  if ('problem' in setup) throw new UserError(setup.problem);
  const { cpus, memory } = request;
  const container = {
    name: 'app',
    kind: 'app' as const,
    cpus,
    memory: memory === undefined ? undefined : { memory },
  };
  const { ledger, refusal } = admitted(setup, emptyLedger(setup), { uid: 'trial', containers: [container] });
  const given = ledger.cpus['trial']?.['app'] ?? [];
  const on = machine.cpus.filter(({ id }) => given.includes(id)).map(({ node }) => node);
  const blocks = ledger.memory['trial']?.['app'] ?? [];
  return {
    admitted: refusal === undefined,
    reason: refusal?.reason,
    message: refusal?.message,
    cpus: cpuSetText(given),
    cpuNodes: cpuSetText(cpuSet(on)),
    memoryNodes: cpuSetText(cpuSet(blocks.flatMap(({ numaAffinity }) => numaAffinity))),
    reserved: cpuSetText(setup.cpu?.reserved ?? []),
    shared: cpuSetText(ledger.shared),
  };
}

function settingsOf({ nodes }: Machine, request: TrialRequest, reserved: CpuSet): ExclusiveSettings {
  const { memory, numaPolicy, numaScope, cpuOptions } = request;
  const limits = { memory: RESERVED_MEMORY };
  return {
    cpuManagerPolicy: 'static',
    cpuManagerPolicyOptions: Object.fromEntries(cpuOptions.map((option) => [option, 'true'])),
    gates: { alpha: true, beta: true },
    memoryManagerPolicy: memory === undefined ? 'None' : 'Static',
    topologyManagerPolicy: numaPolicy,
    topologyManagerScope: numaScope,
    topologyOptions: { preferClosest: false, mostNodes: Math.max(8, nodes.length) },
    reservedSystemCPUs: cpuSetText(reserved),
    reservedMilliCpus: Math.max(1, reserved.length) * 1000,
    reservedBytes: limits,
    reservedMemory: nodes.slice(0, 1).map(({ id }) => ({ numaNode: id, limits })),
  };
}
