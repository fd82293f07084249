import { type CpuSet, cpuSet, cpuSetText, parseCpuSet } from './cpu-set.ts';
import { type CpuOptionGates, cpuOptions } from './cpu/options.ts';
import { type CpuPolicy, cpuLedgerProblem, takenCpus } from './cpu/policy.ts';
import type { Ledger } from './ledger.ts';
import { type Machine, allCpus, cpuNodes } from './machine.ts';
import { memoryLedgerProblem } from './memory/ledger-problem.ts';
import { type MemoryPolicy, unusedMemory } from './memory/policy.ts';
import type { Merging } from './topology/hint.ts';
import { MOST_MASKED_NODES, maskOf, meanDistance } from './topology/nodes.ts';

/** The settings of the CPU, memory and topology managers (KubeletConfiguration). */
export interface ExclusiveSettings {
  readonly cpuManagerPolicy: string;
  readonly cpuManagerPolicyOptions: Readonly<Record<string, string>>;
  readonly gates: CpuOptionGates;
  readonly memoryManagerPolicy: string;
  readonly topologyManagerPolicy: string;
  readonly topologyManagerScope: string;
  /** topologyManagerPolicyOptions */
  readonly topologyOptions: { readonly preferClosest: boolean; readonly mostNodes: number };
  readonly reservedSystemCPUs: string;
  /** Thousandths of CPUs of kubeReserved and systemReserved. */
  readonly reservedMilliCpus: number;
  /** Bytes by resource of kubeReserved, systemReserved and the hard eviction threshold. */
  readonly reservedBytes: Readonly<Record<string, number>>;
  /** Bytes by resource for each NUMA node. */
  readonly reservedMemory: readonly { readonly numaNode: number; readonly limits: Readonly<Record<string, number>> }[];
}

/** The managers on a machine. Without a policy of CPUs or memory nothing of it is exclusive. */
export interface ExclusiveSetup {
  readonly machine: Machine;
  readonly cpu: CpuPolicy | undefined;
  readonly memory: MemoryPolicy | undefined;
  /** Undefined: policy `none`. */
  readonly topology: (Merging & { readonly scope: 'container' | 'pod' }) | undefined;
}

/** Why the managers cannot work, in the reference kubelet's words. */
export interface SetupProblem {
  readonly problem: string;
}

/** The managers as configured, or why the reference kubelet does not start with these settings on this machine. */
export function exclusiveSetup(machine: Machine, settings: ExclusiveSettings): ExclusiveSetup | SetupProblem {
  const problem = topologyProblem(machine, settings);
  if (problem !== undefined) return { problem };
  const cpu = cpuPolicy(machine, settings);
  if (cpu !== undefined && 'problem' in cpu) return cpu;
  const memory = memoryPolicy(machine, settings);
  if (memory !== undefined && 'problem' in memory) return memory;
  return { machine, cpu, memory, topology: topologyOf(machine, settings) };
}

/** Nothing is allocated. */
export function emptyLedger({ machine, cpu, memory }: ExclusiveSetup): Ledger {
  const lent = cpu?.options.strictReservation === true ? cpu.reserved : [];
  const nodes = memory === undefined ? {} : unusedMemory(memory);
  return {
    shared: allCpus(machine).filter((id) => !lent.includes(id)),
    cpus: {},
    podCpus: {},
    nodes,
    memory: {},
    podMemory: {},
  };
}

/** Why a ledger of before cannot be used with this setup, in the reference kubelet's words; undefined: it can. */
export function ledgerProblem({ cpu, memory }: ExclusiveSetup, ledger: Ledger): string | undefined {
  const cpuProblem = cpu === undefined ? undefined : cpuLedgerProblem(cpu, ledger);
  return cpuProblem ?? (memory === undefined ? undefined : memoryLedgerProblem(memory, ledger));
}

const policies: readonly string[] = ['best-effort', 'restricted', 'single-numa-node'];

function topologyProblem({ nodes }: Machine, settings: ExclusiveSettings): string | undefined {
  const { topologyManagerPolicy: policy, topologyManagerScope: scope, topologyOptions } = settings;
  if (policy === 'none') return undefined;
  const most = Math.min(topologyOptions.mostNodes, MOST_MASKED_NODES);
  if (nodes.length > most) return `unsupported on machines with more than ${most} NUMA Nodes`;
  if (!policies.includes(policy)) return `unknown policy: ${JSON.stringify(policy)}`;
  return scope === 'container' || scope === 'pod' ? undefined : `unknown scope: ${JSON.stringify(scope)}`;
}

function topologyOf(machine: Machine, settings: ExclusiveSettings): ExclusiveSetup['topology'] {
  const { topologyManagerPolicy: policy, topologyManagerScope, topologyOptions } = settings;
  if (policy !== 'best-effort' && policy !== 'restricted' && policy !== 'single-numa-node') return undefined;
  const all = maskOf(
    machine,
    machine.nodes.map(({ id }) => id),
  );
  const distance = topologyOptions.preferClosest ? (mask: number) => meanDistance(machine, mask) : () => 0;
  return { policy, all, distance, scope: topologyManagerScope === 'pod' ? 'pod' : 'container' };
}

function cpuPolicy(machine: Machine, settings: ExclusiveSettings): CpuPolicy | SetupProblem | undefined {
  const { cpuManagerPolicy: policy, cpuManagerPolicyOptions: given, reservedMilliCpus } = settings;
  if (policy === 'none') {
    const isPlain = Object.keys(given).length === 0;
    return isPlain ? undefined : { problem: 'new none policy error: None policy: received unsupported options' };
  }
  if (policy !== 'static') return { problem: `unknown policy: ${JSON.stringify(policy)}` };
  if (reservedMilliCpus <= 0) {
    const needs = 'the static policy requires systemreserved.cpu + kubereserved.cpu to be greater than zero';
    return { problem: `[cpumanager] ${needs}` };
  }
  const found = staticPolicy(machine, settings);
  return 'problem' in found ? { problem: `new static policy error: ${found.problem}` } : found;
}

function staticPolicy(machine: Machine, settings: ExclusiveSettings): CpuPolicy | SetupProblem {
  const options = cpuOptions(settings.cpuManagerPolicyOptions, settings.gates);
  if ('problem' in options) return options;
  if (options.bySocket) {
    const problem = socketProblem(machine, settings);
    if (problem !== undefined) return { problem };
  }
  const unreserved = { machine, options, reserved: [], reservedCores: [] };
  const reserved = reservedCpus(unreserved, settings);
  const count = Math.ceil(settings.reservedMilliCpus / 1000);
  if (reserved.length !== count) {
    const sizes = `(size of ${cpuSetText(reserved)} did not equal ${count})`;
    return { problem: `[cpumanager] unable to reserve the required amount of CPUs ${sizes}` };
  }
  const unknown = reserved.find((id) => machine.cpus.every((cpu) => cpu.id !== id));
  if (unknown !== undefined) {
    const what = 'unable to build the reserved physical CPUs from the reserved set';
    return { problem: `[cpumanager] ${what}: unknown CPU ID: ${unknown}` };
  }
  const cores = new Set(machine.cpus.filter(({ id }) => reserved.includes(id)).map(({ core }) => core));
  const reservedCores = cpuSet(machine.cpus.filter(({ core }) => cores.has(core)).map(({ id }) => id));
  return { machine, options, reserved, reservedCores };
}

/** Those of reservedSystemCPUs, otherwise as many as are reserved, chosen like a container's. */
function reservedCpus(policy: CpuPolicy, { reservedSystemCPUs, reservedMilliCpus }: ExclusiveSettings): CpuSet {
  const specific = parseCpuSet(reservedSystemCPUs) ?? [];
  if (specific.length > 0) return specific;
  const taken = takenCpus(policy, allCpus(policy.machine), Math.ceil(reservedMilliCpus / 1000));
  return 'problem' in taken ? [] : taken;
}

function socketProblem(machine: Machine, { topologyManagerPolicy }: ExclusiveSettings): string | undefined {
  if (topologyManagerPolicy === 'single-numa-node') {
    return 'Topolgy manager single-numa-node policy is incompatible with CPUManager align-by-socket policy option';
  }
  if (machine.sockets <= cpuNodes(machine).length) return undefined;
  return 'Align by socket is not compatible with hardware where number of sockets are more than number of NUMA';
}

function memoryPolicy(machine: Machine, settings: ExclusiveSettings): MemoryPolicy | SetupProblem | undefined {
  const { memoryManagerPolicy: policy, reservedMemory, reservedBytes } = settings;
  if (policy === 'None') return undefined;
  if (policy !== 'Static') return { problem: `unknown policy: ${JSON.stringify(policy)}` };
  const sums: Record<string, number> = {};
  const reserved: Record<string, Record<string, number>> = {};
  for (const { numaNode, limits } of reservedMemory) {
    if (machine.nodes.every(({ id }) => id !== numaNode)) {
      const what = `references a NUMA node ${numaNode} that does not exist on this machine`;
      return { problem: `the reserved memory configuration ${what}` };
    }
    for (const [type, bytes] of Object.entries(limits)) sums[type] = (sums[type] ?? 0) + bytes;
    reserved[numaNode] = { ...reserved[numaNode], ...limits };
  }
  for (const type of new Set([...Object.keys(sums), ...Object.keys(reservedBytes)])) {
    const [sum, expected] = [sums[type] ?? 0, reservedBytes[type] ?? 0];
    if (sum === expected) continue;
    const amounts = `the total amount "${sum}" of type "${type}" is not equal to the value "${expected}"`;
    return { problem: `${amounts} determined by Node Allocatable feature` };
  }
  if ((sums['memory'] ?? 0) <= 0) {
    return { problem: '[memorymanager] you should specify the system reserved memory' };
  }
  return { machine, reserved };
}
