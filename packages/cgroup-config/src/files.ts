import { pageSizeName } from '@kubus/container-config';
import type { CgroupLimits } from './limits.ts';

/** A file of a cgroup and what is written into it. */
export interface CgroupFile {
  /** The controller that has it: `cpu`, `memory`, `pids`, `hugetlb`. */
  readonly controller: string;
  readonly file: string;
  readonly value: string;
}

/** The limits as the kernel takes them (cgroups(7); Documentation/admin-guide/cgroup-v2.rst), in the order of writing. */
export function cgroupFiles(limits: CgroupLimits, version: 1 | 2): CgroupFile[] {
  return version === 1 ? version1(limits) : version2(limits);
}

function version1({ cpuShares, cpu, memory, pids, hugepages }: CgroupLimits): CgroupFile[] {
  return [
    { controller: 'cpu', file: 'cpu.shares', value: String(cpuShares) },
    ...(cpu === undefined ? [] : [{ controller: 'cpu', file: 'cpu.cfs_period_us', value: String(cpu.periodUs) }]),
    { controller: 'cpu', file: 'cpu.cfs_quota_us', value: String(cpu?.quotaUs ?? -1n) },
    { controller: 'memory', file: 'memory.limit_in_bytes', value: String(memory ?? -1n) },
    ...pidsFile(pids),
    ...hugepageFiles(hugepages, 'limit_in_bytes'),
  ];
}

function version2({ cpuShares, cpu, memory, pids, hugepages }: CgroupLimits): CgroupFile[] {
  return [
    { controller: 'cpu', file: 'cpu.weight', value: String(cpuWeight(cpuShares)) },
    { controller: 'cpu', file: 'cpu.max', value: cpu === undefined ? 'max' : `${cpu.quotaUs} ${cpu.periodUs}` },
    { controller: 'memory', file: 'memory.max', value: String(memory ?? 'max') },
    ...pidsFile(pids),
    ...hugepageFiles(hugepages, 'max'),
  ];
}

function pidsFile(pids: bigint | undefined): CgroupFile[] {
  return pids === undefined ? [] : [{ controller: 'pids', file: 'pids.max', value: String(pids) }];
}

function hugepageFiles(hugepages: ReadonlyMap<bigint, bigint> = new Map(), suffix: string): CgroupFile[] {
  return [...hugepages].map(([size, bytes]) => ({
    controller: 'hugetlb',
    file: `hugetlb.${pageSizeName(size)}.${suffix}`,
    value: String(bytes),
  }));
}

const [MIN_SHARES, MAX_SHARES] = [2n, 262_144n];
const [MIN_WEIGHT, MAX_WEIGHT] = [1n, 10_000n];

/** Shares of v1 as a weight of v2: both ranges laid over each other (KEP-2254). */
export function cpuWeight(shares: bigint): bigint {
  return MIN_WEIGHT + ((shares - MIN_SHARES) * (MAX_WEIGHT - MIN_WEIGHT)) / (MAX_SHARES - MIN_SHARES);
}

/** The shares of v1 that come closest to a weight of v2. */
export function cpuSharesOf(weight: bigint): bigint {
  return MIN_SHARES + ((weight - MIN_WEIGHT) * (MAX_SHARES - MIN_SHARES)) / (MAX_WEIGHT - MIN_WEIGHT);
}
