import { cpuWeight } from './files.ts';
import type { CgroupLimits } from './limits.ts';

/** A property of a systemd unit (org.freedesktop.systemd1(5), systemd.resource-control(5)), with its D-Bus type. */
export type UnitProperty =
  | readonly [name: string, type: 'b', value: boolean]
  | readonly [name: string, type: 's', value: string]
  | readonly [name: string, type: 't', value: bigint]
  | readonly [name: string, type: 'as', value: readonly string[]]
  | readonly [name: string, type: 'ay', value: Uint8Array];

/** No limit, as systemd writes it. */
const INFINITY = 2n ** 64n - 1n;
const US_PER_SECOND = 1_000_000n;
/** Microseconds: one percent of a second. */
const PERCENT_US = 10_000n;

/** The slice whose cgroup has this path: its last part. */
export function unitOf(path: string): string {
  return path.slice(path.lastIndexOf('/') + 1);
}

/** With what a slice is created, besides its limits. systemd derives the slice that it is in from its name. */
export function sliceProperties(path: string, version: 1 | 2): UnitProperty[] {
  const above = unitOf(path.slice(0, path.lastIndexOf('/')));
  return [
    ['Description', 's', `Kubernetes pods: ${unitOf(path)}`],
    ['Wants', 'as', [above === '' ? '-.slice' : above]],
    ['MemoryAccounting', 'b', true],
    ['CPUAccounting', 'b', true],
    [version === 1 ? 'BlockIOAccounting' : 'IOAccounting', 'b', true],
    ['TasksAccounting', 'b', true],
    ['DefaultDependencies', 'b', false],
  ];
}

/**
 * Those of the limits that systemd has a property for (behaviour:qos-and-cgroups), of cgroups of this version. The others, such as huge
 * pages, are for the kernel alone.
 */
export function limitProperties(limits: CgroupLimits, version: 1 | 2): UnitProperty[] {
  const { cpuShares, cpu, memory, memoryMin, memoryLow, pids, cpus } = limits;
  return [
    ...numberProperty('CPUShares', version === 1 ? cpuShares : undefined),
    ...numberProperty('CPUWeight', version === 1 || cpuShares === undefined ? undefined : cpuWeight(cpuShares)),
    ...numberProperty('CPUQuotaPeriodUSec', cpu === 'max' ? undefined : cpu?.periodUs),
    ...numberProperty('CPUQuotaPerSecUSec', cpu === undefined || cpu === 'max' ? cpu : perSecond(cpu)),
    ...numberProperty(version === 1 ? 'MemoryLimit' : 'MemoryMax', memory),
    ...numberProperty('MemoryMin', version === 1 ? undefined : memoryMin),
    ...numberProperty('MemoryLow', version === 1 ? undefined : memoryLow),
    // systemd takes no 0.
    ...numberProperty('TasksMax', pids === 0n ? 1n : pids),
    ...(cpus === undefined || version === 1 ? [] : [['AllowedCPUs', 'ay', cpuMask(cpus)] as const]),
  ];
}

/**
 * The limits that a cgroup of systemd's has: systemd rounds a CPU quota up to a percent of a CPU, and would write that over a smaller one.
 */
export function roundedLimits(limits: CgroupLimits): CgroupLimits {
  const { cpu } = limits;
  if (cpu === undefined || cpu === 'max') return limits;
  return { ...limits, cpu: { ...cpu, quotaUs: (perSecond(cpu) * cpu.periodUs) / US_PER_SECOND } };
}

function perSecond({ quotaUs, periodUs }: { readonly quotaUs: bigint; readonly periodUs: bigint }): bigint {
  const exact = (quotaUs * US_PER_SECOND) / periodUs;
  return ((exact + PERCENT_US - 1n) / PERCENT_US) * PERCENT_US;
}

function numberProperty(name: string, value: bigint | 'max' | undefined): UnitProperty[] {
  return value === undefined ? [] : [[name, 't', value === 'max' ? INFINITY : value]];
}

/** One bit for each processor, the lowest in the first byte. */
function cpuMask(cpus: readonly number[]): Uint8Array {
  const mask = new Uint8Array(Math.floor((cpus.at(-1) ?? 0) / 8) + 1);
  for (const cpu of cpus) mask[cpu >> 3] = (mask[cpu >> 3] ?? 0) | (1 << (cpu & 7));
  return mask;
}
