import { pageSizeName } from '@kubus/container-config';
import type { CgroupLimits } from './limits.ts';

/** A file of a cgroup and what is written into it. */
export interface CgroupFile {
  /** The controller to which it belongs: `cpu`, `cpuset`, `memory`, `pids`, `hugetlb`. */
  readonly controller: string;
  readonly file: string;
  readonly value: string;
  /** Not every kernel has it. */
  readonly optional?: true;
}

/** The limits in the kernel's form (cgroups(7); Documentation/admin-guide/cgroup-v2.rst), in the order of writing. */
export function cgroupFiles(limits: CgroupLimits, version: 1 | 2): CgroupFile[] {
  return version === 1 ? version1(limits) : version2(limits);
}

/** Processors are those of the cgroup above: the runtime copies them from there. */
function version1({ cpuShares, cpu, memory, pids, hugepages }: CgroupLimits): CgroupFile[] {
  const quota = cpu === 'max' ? undefined : cpu;
  return [
    ...valueFile('cpu', 'cpu.shares', cpuShares),
    ...valueFile('cpu', 'cpu.cfs_period_us', quota?.periodUs),
    ...valueFile('cpu', 'cpu.cfs_quota_us', cpu === 'max' ? -1n : cpu?.quotaUs),
    ...valueFile('memory', 'memory.limit_in_bytes', memory === 'max' ? -1n : memory),
    ...valueFile('pids', 'pids.max', pids),
    ...hugepageFiles(hugepages, 'limit_in_bytes'),
  ];
}

function version2({ cpuShares, cpu, memory, memoryMin, memoryLow, pids, hugepages, cpus }: CgroupLimits): CgroupFile[] {
  return [
    ...valueFile('cpu', 'cpu.weight', cpuShares === undefined ? undefined : cpuWeight(cpuShares)),
    ...valueFile('cpu', 'cpu.max', cpu === undefined || cpu === 'max' ? cpu : `${cpu.quotaUs} ${cpu.periodUs}`),
    ...valueFile('cpuset', 'cpuset.cpus', cpus === undefined ? undefined : cpuList(cpus)),
    ...valueFile('memory', 'memory.max', memory),
    ...valueFile('memory', 'memory.min', memoryMin),
    ...valueFile('memory', 'memory.low', memoryLow),
    ...valueFile('pids', 'pids.max', pids),
    ...hugepageFiles(hugepages, 'max'),
  ];
}

function valueFile(controller: string, file: string, value: bigint | string | undefined): CgroupFile[] {
  return value === undefined ? [] : [{ controller, file, value: String(value) }];
}

/** Pages that are in use, and those that a process has reserved. */
function hugepageFiles(hugepages: ReadonlyMap<bigint, bigint> = new Map(), suffix: string): CgroupFile[] {
  return [...hugepages].flatMap(([size, bytes]): CgroupFile[] => {
    const [name, value] = [`hugetlb.${pageSizeName(size)}`, String(bytes)];
    return [
      { controller: 'hugetlb', file: `${name}.${suffix}`, value },
      { controller: 'hugetlb', file: `${name}.rsvd.${suffix}`, value, optional: true },
    ];
  });
}

/** Numbers as a list of ranges (cpuset(7), List format): `0-3,7`. */
function cpuList(cpus: readonly number[]): string {
  const ranges: [first: number, last: number][] = [];
  for (const cpu of cpus) {
    const range = ranges.at(-1);
    if (range !== undefined && range[1] === cpu - 1) range[1] = cpu;
    else ranges.push([cpu, cpu]);
  }
  return ranges.map(([first, last]) => (first === last ? String(first) : `${first}-${last}`)).join(',');
}

/** The numbers of a list of ranges (cpuset(7), List format), ascending as there. */
export function cpusOfList(list: string): number[] {
  return list
    .trim()
    .split(',')
    .filter((range) => range !== '')
    .flatMap((range) => {
      const [first = 0, last = first] = range.split('-').map(Number);
      return Array.from({ length: last - first + 1 }, (_, index) => first + index);
    });
}

const [MIN_SHARES, MAX_SHARES] = [2n, 262_144n];
const [MIN_WEIGHT, MAX_WEIGHT] = [1n, 10_000n];
const SHARES_PER_CPU = 1024n;

/** Shares of v1 as a weight of v2: the range of one is mapped to that of the other (KEP-2254). */
export function cpuWeight(shares: bigint): bigint {
  return MIN_WEIGHT + ((shares - MIN_SHARES) * (MAX_WEIGHT - MIN_WEIGHT)) / (MAX_SHARES - MIN_SHARES);
}

/** The shares of v1 that come closest to a weight of v2. */
export function cpuSharesOf(weight: bigint): bigint {
  return MIN_SHARES + ((weight - MIN_WEIGHT) * (MAX_SHARES - MIN_SHARES)) / (MAX_WEIGHT - MIN_WEIGHT);
}

/** The thousandths of a CPU for which a cgroup gets these shares; 0 for the least shares, which a pod without requests has. */
export function milliCpuOf(shares: bigint): bigint {
  return shares <= MIN_SHARES ? 0n : (shares * 1000n + SHARES_PER_CPU - 1n) / SHARES_PER_CPU;
}
