import type { CgroupUsage } from '@kubus/cgroup-config';
import type { CgroupReading } from './reading.ts';

/** A CPU time, and when it was read. */
export interface CpuTime extends Pick<CgroupReading, 'atMs'> {
  readonly usage: Pick<CgroupUsage, 'cpuNs'>;
}

/** Readings that are closer than this say little, and those that are further apart nothing of now. Milliseconds. */
const [LEAST_MS, MOST_MS] = [1000, 5 * 60_000];

/** Whether the time between both gives a rate. */
export function isComparable(before: number, now: number): boolean {
  return now - before >= LEAST_MS && now - before <= MOST_MS;
}

/** Billionths of a CPU that were used between both readings; undefined where they do not tell. */
export function nanoCores(before: CpuTime | undefined, now: CpuTime): number | undefined {
  // A cgroup that was made anew has used less than before.
  if (before === undefined || !isComparable(before.atMs, now.atMs) || now.usage.cpuNs < before.usage.cpuNs)
    return undefined;
  return Math.round(((now.usage.cpuNs - before.usage.cpuNs) / (now.atMs - before.atMs)) * 1000);
}
