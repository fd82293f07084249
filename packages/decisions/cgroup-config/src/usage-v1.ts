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

/** A limit of this size or more is the kernel's representation of no limit. */
const UNLIMITED = 2 ** 62;

/** Length of a tick in which user and system time are counted (USER_HZ is 100 on every Linux that Node.js runs on). */
const TICK_NS = 10_000_000;

/**
 * What a cgroup of v1 uses (Documentation/admin-guide/cgroup-v1). Undefined when it does not exist. The values of `memory.stat`
 * include all cgroups below, as usage and limit do.
 *
 * @param machine for the root cgroup: its limits
 */
export function usageV1(source: UsageSource, detail: UsageDetail, machine?: MachineMemory): CgroupUsage | undefined {
  const { read, setting = read } = source;
  const cpuNs = numberOf(read('cpuacct', 'cpuacct.usage'));
  const stat = read('memory', 'memory.stat');
  const memory = memoryOf(read, stat, { setting, machine });
  if (cpuNs === undefined || memory === undefined) return undefined;
  const swap = swapOf(stat, { setting, machine, memoryLimit: memory.limitBytes });
  const details = (idle: CgroupDetails | undefined) => detailsOf(read, setting, idle);
  return usageOf(source, detail, { cpuNs, memory, swap, details });
}

interface LimitSource {
  readonly setting: ReadCgroupFile;
  readonly machine: MachineMemory | undefined;
}

function memoryOf(
  read: ReadCgroupFile,
  stat: string | undefined,
  { setting, machine }: LimitSource,
): MemoryUsage | undefined {
  const usageBytes = numberOf(read('memory', 'memory.usage_in_bytes'));
  if (usageBytes === undefined || stat === undefined) return undefined;
  const value = (name: string) => valueOf(stat, name) ?? 0;
  const inactiveFileBytes = value('total_inactive_file');
  return {
    usageBytes,
    workingSetBytes: Math.max(0, usageBytes - inactiveFileBytes),
    rssBytes: value('total_rss'),
    cacheBytes: value('total_cache'),
    mappedBytes: value('total_mapped_file'),
    activeFileBytes: value('total_active_file'),
    inactiveFileBytes,
    faults: { all: value('total_pgfault'), major: value('total_pgmajfault') },
    ownFaults: { all: value('pgfault'), major: value('pgmajfault') },
    limitBytes: machine?.limitBytes ?? limitOf(setting('memory', 'memory.limit_in_bytes')),
  };
}

/** The limit covers memory and swap together. */
function swapOf(
  stat: string | undefined,
  { setting, machine, memoryLimit }: LimitSource & { readonly memoryLimit: number | undefined },
): CgroupUsage['swap'] {
  const bytes = valueOf(stat, 'total_swap');
  const text = setting('memory', 'memory.memsw.limit_in_bytes');
  if (bytes === undefined || text === undefined) return undefined;
  if (machine !== undefined) return { bytes, limitBytes: machine.swapLimitBytes };
  const both = limitOf(text);
  return { bytes, limitBytes: both === undefined ? undefined : Math.max(0, both - (memoryLimit ?? 0)) };
}

function detailsOf(read: ReadCgroupFile, setting: ReadCgroupFile, idle: CgroupDetails | undefined): CgroupDetails {
  const kernelBytes = numberOf(read('memory', 'memory.kmem.usage_in_bytes')) ?? 0;
  const disks = disksOf(
    read('blkio', 'blkio.throttle.io_service_bytes_recursive'),
    read('blkio', 'blkio.throttle.io_serviced_recursive'),
  );
  if (idle !== undefined) return { ...idle, kernelBytes, disks };
  const times = read('cpuacct', 'cpuacct.stat');
  const quota = numberOf(setting('cpu', 'cpu.cfs_quota_us')) ?? -1;
  const cpu = quota > 0 ? read('cpu', 'cpu.stat') : undefined;
  return {
    userNs: (valueOf(times, 'user') ?? 0) * TICK_NS,
    systemNs: (valueOf(times, 'system') ?? 0) * TICK_NS,
    throttling:
      cpu === undefined
        ? undefined
        : {
            periods: valueOf(cpu, 'nr_periods') ?? 0,
            throttled: valueOf(cpu, 'nr_throttled') ?? 0,
            throttledNs: valueOf(cpu, 'throttled_time') ?? 0,
            bursts: valueOf(cpu, 'nr_bursts') ?? 0,
            burstNs: valueOf(cpu, 'burst_time') ?? 0,
          },
    kernelBytes,
    peakBytes: numberOf(read('memory', 'memory.max_usage_in_bytes')) ?? 0,
    limitHits: numberOf(read('memory', 'memory.failcnt')) ?? 0,
    oomKills: valueOf(read('memory', 'memory.oom_control'), 'oom_kill') ?? 0,
    disks,
    threads: numberOf(read('pids', 'pids.current')) ?? 0,
    threadsLimit: numberOf(setting('pids', 'pids.max')),
    cpuShares: numberOf(setting('cpu', 'cpu.shares')) ?? 0,
    cpuPeriodUs: numberOf(setting('cpu', 'cpu.cfs_period_us')) ?? 0,
    cpuQuotaUs: quota > 0 ? quota : undefined,
    reservationBytes: limitOf(setting('memory', 'memory.soft_limit_in_bytes')),
  };
}

function limitOf(text: string | undefined): number | undefined {
  const value = numberOf(text);
  return value === undefined || value >= UNLIMITED ? undefined : value;
}

function disksOf(bytes: string | undefined, operations: string | undefined): DiskUsage[] {
  const [byBytes, byOperations] = [readsAndWrites(bytes), readsAndWrites(operations)];
  return [...byBytes].map(([device, { read: readBytes, write: writtenBytes }]) => {
    const { read: reads, write: writes } = byOperations.get(device) ?? { read: 0, write: 0 };
    return { device, reads, writes, readBytes, writtenBytes };
  });
}

/** By device, from lines such as `8:0 Read 4096`; the last line is the sum of all. */
function readsAndWrites(text: string | undefined): Map<string, { read: number; write: number }> {
  const devices = new Map<string, { read: number; write: number }>();
  for (const line of text?.includes(':') === true ? text.split('\n') : []) {
    const [device = '', kind, value] = line.split(' ');
    if (value === undefined) continue;
    const counts = devices.get(device) ?? { read: 0, write: 0 };
    devices.set(device, counts);
    if (kind === 'Read') counts.read = Number(value);
    else if (kind === 'Write') counts.write = Number(value);
  }
  return devices;
}
