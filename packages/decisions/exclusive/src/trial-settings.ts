import { type CpuSet, cpuSetText } from './cpu-set.ts';
import type { Machine } from './machine.ts';
import type { ExclusiveSettings } from './setup.ts';

/** What a trial on a described machine sets; the rest is as little as the managers start with. */
export interface TrialSettings {
  /** Whether memory is managed, too (memoryManagerPolicy `Static`). */
  readonly memory: boolean;
  /** topologyManagerPolicy */
  readonly numaPolicy: string;
  /** topologyManagerScope */
  readonly numaScope: string;
  /** Options of the CPU manager that are true. */
  readonly cpuOptions: readonly string[];
  /** reservedSystemCPUs; empty: one CPU, as the CPU manager chooses it. */
  readonly reserved: CpuSet;
}

/** What the hard eviction threshold reserves by default, in bytes; the memory manager needs some. */
const RESERVED_MEMORY = 100 * 2 ** 20;

/** The settings of a node with the static policy of CPUs. */
export function trialSettings(
  { nodes }: Machine,
  { memory, numaPolicy, numaScope, cpuOptions, reserved }: TrialSettings,
): ExclusiveSettings {
  const limits = { memory: RESERVED_MEMORY };
  return {
    cpuManagerPolicy: 'static',
    cpuManagerPolicyOptions: Object.fromEntries(cpuOptions.map((option) => [option, 'true'])),
    gates: { alpha: true, beta: true },
    memoryManagerPolicy: memory ? 'Static' : 'None',
    topologyManagerPolicy: numaPolicy,
    topologyManagerScope: numaScope,
    topologyOptions: { preferClosest: false, mostNodes: Math.max(8, nodes.length) },
    reservedSystemCPUs: cpuSetText(reserved),
    reservedMilliCpus: Math.max(1, reserved.length) * 1000,
    reservedBytes: limits,
    reservedMemory: nodes.slice(0, 1).map(({ id }) => ({ numaNode: id, limits })),
  };
}
