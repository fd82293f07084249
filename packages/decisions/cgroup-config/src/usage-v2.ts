import { cpuSharesOf } from './files.ts';
import {
  type CgroupDetails,
  type CgroupUsage,
  type DiskUsage,
  type MachineMemory,
  type MemoryUsage,
  type ReadCgroupFile,
  type UsageDetail,
  type UsageSource,
  numberOf,
  usageOf,
  valueOf,
} from './usage.ts';

const US_NS = 1000;

/**
 * What a cgroup of v2 uses (Documentation/admin-guide/cgroup-v2.rst). Undefined when it does not exist.
 *
 * @param machine for the root cgroup, which has neither usage nor swap files: its usage and limits
 */
export function usageV2(source: UsageSource, detail: UsageDetail, machine?: MachineMemory): CgroupUsage | undefined {
  const { read, setting = read } = source;
  const cpu = read('cpu', 'cpu.stat');
  const cpuUs = valueOf(cpu, 'usage_usec');
  const stat = read('memory', 'memory.stat');
  const memory = memoryOf(read, stat, { setting, machine });
  if (cpuUs === undefined || memory === undefined) return undefined;
  const cpuNs = cpuUs * US_NS;
  const swapBytes = machine?.swapBytes ?? numberOf(read('memory', 'memory.swap.current'));
  const swap =
    swapBytes === undefined
      ? undefined
      : { bytes: swapBytes, limitBytes: machine?.swapLimitBytes ?? numberOf(setting('memory', 'memory.swap.max')) };
  const details = (idle: CgroupDetails | undefined) => detailsOf(read, setting, { cpu, stat, idle });
  return usageOf(source, detail, { cpuNs, memory, swap, details });
}

function memoryOf(
  read: ReadCgroupFile,
  stat: string | undefined,
  { setting, machine }: { readonly setting: ReadCgroupFile; readonly machine: MachineMemory | undefined },
): MemoryUsage | undefined {
  const usageBytes = machine?.usageBytes ?? numberOf(read('memory', 'memory.current'));
  if (usageBytes === undefined || stat === undefined) return undefined;
  const value = (name: string) => valueOf(stat, name) ?? 0;
  const inactiveFileBytes = value('inactive_file');
  return {
    usageBytes,
    workingSetBytes: Math.max(0, usageBytes - inactiveFileBytes),
    rssBytes: value('anon'),
    cacheBytes: value('file'),
    mappedBytes: value('file_mapped'),
    activeFileBytes: value('active_file'),
    inactiveFileBytes,
    faults: { all: value('pgfault'), major: value('pgmajfault') },
    limitBytes: machine?.limitBytes ?? numberOf(setting('memory', 'memory.max')),
  };
}

function detailsOf(
  read: ReadCgroupFile,
  setting: ReadCgroupFile,
  {
    cpu,
    stat,
    idle,
  }: { readonly cpu: string | undefined; readonly stat: string | undefined; readonly idle: CgroupDetails | undefined },
): CgroupDetails {
  const kernelBytes = valueOf(stat, 'kernel') ?? 0;
  const disks = disksOf(read('io', 'io.stat'));
  if (idle !== undefined) return { ...idle, kernelBytes, disks };
  const [quota, period] = (setting('cpu', 'cpu.max') ?? '').split(' ');
  const cpuQuotaUs = numberOf(quota);
  const events = read('memory', 'memory.events');
  const weight = numberOf(setting('cpu', 'cpu.weight'));
  return {
    userNs: (valueOf(cpu, 'user_usec') ?? 0) * US_NS,
    systemNs: (valueOf(cpu, 'system_usec') ?? 0) * US_NS,
    throttling:
      cpuQuotaUs === undefined
        ? undefined
        : {
            periods: valueOf(cpu, 'nr_periods') ?? 0,
            throttled: valueOf(cpu, 'nr_throttled') ?? 0,
            throttledNs: (valueOf(cpu, 'throttled_usec') ?? 0) * US_NS,
            bursts: valueOf(cpu, 'nr_bursts') ?? 0,
            burstNs: (valueOf(cpu, 'burst_usec') ?? 0) * US_NS,
          },
    kernelBytes,
    peakBytes: numberOf(read('memory', 'memory.peak')) ?? 0,
    limitHits: valueOf(events, 'max') ?? 0,
    oomKills: valueOf(events, 'oom_kill') ?? 0,
    disks,
    threads: numberOf(read('pids', 'pids.current')) ?? 0,
    threadsLimit: numberOf(setting('pids', 'pids.max')),
    cpuShares: weight === undefined ? 0 : Number(cpuSharesOf(BigInt(weight))),
    cpuPeriodUs: numberOf(period) ?? 0,
    cpuQuotaUs,
    reservationBytes: numberOf(setting('memory', 'memory.low')),
  };
}

/** Lines such as `8:0 rbytes=4096 wbytes=0 rios=1 wios=0 dbytes=0 dios=0`. */
function disksOf(text: string | undefined): DiskUsage[] {
  if (text === undefined) return [];
  return text.split('\n').flatMap((line) => {
    const [device = '', ...fields] = line.split(' ');
    if (fields.length === 0) return [];
    const values = new Map(fields.map((field) => field.split('=') as [string, string]));
    const value = (name: string) => Number(values.get(name) ?? 0);
    return [
      {
        device,
        reads: value('rios'),
        writes: value('wios'),
        readBytes: value('rbytes'),
        writtenBytes: value('wbytes'),
      },
    ];
  });
}
