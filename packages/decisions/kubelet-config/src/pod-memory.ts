import type { KubeletConfiguration } from './field-table.ts';
import type { GateSettings } from './gates.ts';
import type { Note } from './notes.ts';
import type { Machine } from './resolve.ts';

/** How pods share the machine's memory, besides their limits (KEP-2570, KEP-2400). */
export interface PodMemory {
  /** How memory is protected and throttled; undefined without the gate MemoryQoS, and on cgroup v1. */
  readonly qos: { readonly throttlingFactor: number; readonly reservation: string } | undefined;
  /** The percentage of requested memory that pods of lower QoS classes cannot use; undefined: none. */
  readonly reservedPercent: number | undefined;
  /** Whether containers may use swap; never on cgroup v1. */
  readonly limitedSwap: boolean;
}

/** The most that can be reserved. */
const ALL = 100;
/** Of older kernels a process may never leave the throttling of memory.high (utilkernel.MemoryQoSMinKernelVersion). */
const MEMORY_QOS_KERNEL = [5, 9] as const;

type Fields = Pick<
  KubeletConfiguration,
  'memoryThrottlingFactor' | 'memoryReservationPolicy' | 'memorySwap' | 'qosReserved'
>;

/** What a checked configuration says about the memory of pods. */
export function podMemory(
  { memoryThrottlingFactor, memoryReservationPolicy, memorySwap, qosReserved }: Fields,
  gates: Pick<GateSettings, 'enabled'>,
  { cgroupVersion }: Pick<Machine, 'cgroupVersion'>,
): PodMemory {
  const hasQos = gates.enabled('MemoryQoS') && cgroupVersion === 2;
  const { memory } = qosReserved;
  return {
    qos: hasQos ? { throttlingFactor: memoryThrottlingFactor, reservation: memoryReservationPolicy } : undefined,
    reservedPercent: memory !== undefined && gates.enabled('QOSReserved') ? percentage(memory) : undefined,
    limitedSwap: memorySwap.swapBehavior === 'LimitedSwap' && cgroupVersion === 2,
  };
}

/** What is wrong with qosReserved, in the reference's words (cm.ParseQOSReserved). */
export function qosReservedProblems(qosReserved: Readonly<Record<string, string>>): string[] {
  return Object.entries(qosReserved).flatMap(([resource, text]) => {
    if (resource !== 'memory') return [`cannot reserve "${resource}" resource`];
    const problem = percentageProblem(text);
    return problem === undefined ? [] : [`failed to parse percentage "${text}" for "memory" resource: ${problem}`];
  });
}

/** What the operator should know about the memory of pods, in the reference's words. */
export function podMemoryNotes(
  { qosReserved }: Pick<Fields, 'qosReserved'>,
  gates: Pick<GateSettings, 'enabled'>,
  { cgroupVersion, kernel }: Omit<Machine, 'swap'>,
): Note[] {
  const notes: Note[] = [];
  if (gates.enabled('MemoryQoS')) {
    const about = { setting: 'featureGates.MemoryQoS', value: true };
    if (cgroupVersion === 1)
      notes.push({ ...about, text: 'only works with cgroups v2 on Linux, but enabled with cgroups v1' });
    else if (isOlder(kernel, MEMORY_QOS_KERNEL)) {
      notes.push({ ...about, text: `may cause process livelock on kernels older than ${MEMORY_QOS_KERNEL.join('.')}` });
    }
  }
  if (Object.keys(qosReserved).length > 0 && !gates.enabled('QOSReserved')) {
    notes.push({
      setting: 'qosReserved',
      value: qosReserved,
      text: 'requires the QOSReserved feature gate to be enabled',
    });
  }
  return notes;
}

function percentageProblem(text: string): string | undefined {
  if (!text.endsWith('%')) return `percentage expected, got '${text}'`;
  if (!/^[+-]?\d+%+$/.test(text)) return `invalid number in percentage '${text}'`;
  const value = percentage(text);
  return value < 0 || value > ALL ? 'percentage must be between 0 and 100' : undefined;
}

function percentage(text: string): number {
  return Number(text.replace(/%+$/, ''));
}

/** @param release as of uname(2): `6.12.1-amd64` */
function isOlder(release: string, [major, minor]: readonly [number, number]): boolean {
  const [own = 0, ownMinor = 0] = release.split('.').map((part) => Number.parseInt(part, 10));
  return own < major || (own === major && ownMinor < minor);
}
