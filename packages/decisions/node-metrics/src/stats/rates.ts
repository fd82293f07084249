import type { CgroupUsage } from '@kubus/cgroup-config';
import type { CgroupReading } from './reading.ts';

/** A CPU time, and the time at which it was read. */
export interface CpuTime extends Pick<CgroupReading, 'atMs'> {
  readonly usage: Pick<CgroupUsage, 'cpuNs'>;
}

/** In milliseconds. Readings closer together than the minimum are imprecise; readings further apart than the maximum are outdated. */
const [LEAST_MS, MOST_MS] = [1000, 5 * 60_000];

/** Whether a rate can be computed from the time between both. */
export function isComparable(before: number, now: number): boolean {
  return now - before >= LEAST_MS && now - before <= MOST_MS;
}

/** Billionths of a CPU that were used between both readings; undefined where the readings give no rate. */
export function nanoCores(before: CpuTime | undefined, now: CpuTime): number | undefined {
  // A cgroup that was created again has used less than before.
  if (before === undefined || !isComparable(before.atMs, now.atMs) || now.usage.cpuNs < before.usage.cpuNs)
    return undefined;
  return Math.round(((now.usage.cpuNs - before.usage.cpuNs) / (now.atMs - before.atMs)) * 1000);
}
