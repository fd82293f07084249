import { cpuSharesOf } from './files.ts';
import { pressuresOf } from './pressure.ts';
import {
  type CgroupDetails,
  type CgroupUsage,
  type DiskUsage,
  type MemoryUsage,
  type ReadCgroupFile,
  type UsageDetail,
  numberOf,
  valueOf,
} from './usage.ts';

const US_NS = 1000;

/**
 * What a cgroup of v2 uses (Documentation/admin-guide/cgroup-v2.rst). Undefined when it is gone. The topmost one has neither
 * usage nor swap of its own: `machine` says what the machine uses.
 *
 * @param setting reads what stays as it is until somebody writes it
 */
export function usageV2(
  read: ReadCgroupFile,
  detail: UsageDetail,
  machine?: { readonly usageBytes: number; readonly swapBytes: number },
  setting: ReadCgroupFile = read,
): CgroupUsage | undefined {
  const cpu = read('cpu', 'cpu.stat');
  const cpuUs = valueOf(cpu, 'usage_usec');
  const stat = read('memory', 'memory.stat');
  const memory = memoryOf(read, stat, { setting, machineBytes: machine?.usageBytes });
  if (cpuUs === undefined || memory === undefined) return undefined;
  const swap = machine?.swapBytes ?? numberOf(read('memory', 'memory.swap.current'));
  const pressures = detail === 'usage' ? undefined : pressuresOf((file) => read('', file));
  return {
    ...{ cpuNs: cpuUs * US_NS, memory },
    swap: swap === undefined ? undefined : { bytes: swap, limitBytes: numberOf(setting('memory', 'memory.swap.max')) },
    ...(pressures && { pressures }),
    ...(detail === 'all' && { more: detailsOf(read, setting, { cpu, stat }) }),
  };
}

function memoryOf(
  read: ReadCgroupFile,
  stat: string | undefined,
  { setting, machineBytes }: { readonly setting: ReadCgroupFile; readonly machineBytes: number | undefined },
): MemoryUsage | undefined {
  const usageBytes = machineBytes ?? numberOf(read('memory', 'memory.current'));
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
    limitBytes: numberOf(setting('memory', 'memory.max')),
  };
}

function detailsOf(
  read: ReadCgroupFile,
  setting: ReadCgroupFile,
  { cpu, stat }: { readonly cpu: string | undefined; readonly stat: string | undefined },
): CgroupDetails {
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
          },
    kernelBytes: valueOf(stat, 'kernel') ?? 0,
    peakBytes: numberOf(read('memory', 'memory.peak')) ?? 0,
    limitHits: valueOf(events, 'max') ?? 0,
    oomKills: valueOf(events, 'oom_kill') ?? 0,
    disks: disksOf(read('io', 'io.stat')),
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
