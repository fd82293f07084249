import {
  type Machine,
  admitted,
  cpuSet,
  cpuSetText,
  emptyLedger,
  exclusiveSetup,
  parseCpuSet,
  trialSettings,
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

/** What the only pod of a machine would get: one container, Guaranteed. Throws a UserError when a kubelet does not start with the settings. */
export function allocationTrial(machine: Machine, request: TrialRequest): Trial {
  const reserved = parseCpuSet(request.reservedCpus ?? '');
  if (reserved === undefined) throw new UserError('--reserved-cpus: must be a list such as 0-3,8');
  const { cpus, memory } = request;
  const setup = exclusiveSetup(machine, trialSettings(machine, { ...request, memory: memory !== undefined, reserved }));
  if ('problem' in setup) throw new UserError(setup.problem);
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
