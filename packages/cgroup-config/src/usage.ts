import { type Pressures, haveSameTotals, pressuresOf } from './pressure.ts';
import { reused } from './reused.ts';

/** How much of a cgroup is asked for. Each one contains those before it. */
export type UsageDetail = 'usage' | 'pressure' | 'all';

/** What a cgroup with all below it uses. Times are nanoseconds, sizes bytes. */
export interface CgroupUsage {
  /** CPU time since the cgroup was made. */
  readonly cpuNs: number;
  readonly memory: MemoryUsage;
  /** Undefined where the kernel does not account for swap. */
  readonly swap: { readonly bytes: number; readonly limitBytes: number | undefined } | undefined;
  /** From `pressure` on, where the kernel tells it. */
  readonly pressures?: Pressures;
  /** Of `all`. */
  readonly more?: CgroupDetails;
}

export interface MemoryUsage {
  readonly usageBytes: number;
  /** What can not be had back at once: the usage without pages of files that nobody has used lately. */
  readonly workingSetBytes: number;
  readonly rssBytes: number;
  readonly cacheBytes: number;
  readonly mappedBytes: number;
  readonly activeFileBytes: number;
  readonly inactiveFileBytes: number;
  readonly faults: PageFaults;
  /** The same without the cgroups below, where the kernel tells it. */
  readonly ownFaults?: PageFaults;
  /** The cgroup's own; undefined: none. */
  readonly limitBytes: number | undefined;
}

export interface PageFaults {
  readonly all: number;
  /** Those for which something had to be read. */
  readonly major: number;
}

/** What only those ask for who show everything. */
export interface CgroupDetails {
  readonly userNs: number;
  readonly systemNs: number;
  /** Undefined where the CPU time is not limited. */
  readonly throttling:
    { readonly periods: number; readonly throttled: number; readonly throttledNs: number } | undefined;
  readonly kernelBytes: number;
  /** The greatest usage there ever was; 0 where the kernel does not tell. */
  readonly peakBytes: number;
  /** How often the limit was reached. */
  readonly limitHits: number;
  /** Processes that were killed for want of memory. */
  readonly oomKills: number;
  readonly disks: readonly DiskUsage[];
  readonly threads: number;
  /** Undefined: any number. */
  readonly threadsLimit: number | undefined;
  /** In the unit of cgroup v1: 1024 for one CPU. */
  readonly cpuShares: number;
  readonly cpuPeriodUs: number;
  /** Undefined: not limited. */
  readonly cpuQuotaUs: number | undefined;
  /** Below which the cgroup is spared when memory is short; undefined: none. */
  readonly reservationBytes: number | undefined;
}

/** What went to and came from one disk. */
export interface DiskUsage {
  /** `major:minor`. */
  readonly device: string;
  readonly reads: number;
  readonly writes: number;
  readonly readBytes: number;
  readonly writtenBytes: number;
}

/** The text of a cgroup's file in the hierarchy of a controller; undefined where there is none. */
export type ReadCgroupFile = (controller: string, file: string) => string | undefined;

/** Where what a cgroup uses is read. */
export interface UsageSource {
  readonly read: ReadCgroupFile;
  /** Reads what stays as it is until somebody writes it. Default: `read`. */
  readonly setting?: ReadCgroupFile;
  /**
   * What was read before. None of the cgroup's processes has run since where its CPU time is the same, and what only they
   * change is taken from there: nine of fifteen files of an idle container. Read again is what changes without them: pages that are
   * taken back or written later, waiting for disks, means of pressure.
   */
  readonly before?: CgroupUsage | undefined;
}

interface UsageParts extends Pick<CgroupUsage, 'cpuNs' | 'memory' | 'swap'> {
  /** Reads what belongs to `all`; `idle`: that of before, where none of the processes has run since. */
  readonly details: (idle: CgroupDetails | undefined) => CgroupDetails;
}

/** What the cgroup uses, as far as that is asked for or known; parts that say the same as before are the same objects. */
export function usageOf(
  { read, before }: UsageSource,
  detail: UsageDetail,
  { cpuNs, memory, swap, details }: UsageParts,
): CgroupUsage {
  const idle = before?.cpuNs === cpuNs ? before : undefined;
  const pressures = detail === 'usage' ? idle?.pressures : pressuresOf((file) => read('', file), idle?.pressures);
  const more = detail === 'all' ? details(idle?.more) : idle?.more;
  return reused(before, {
    cpuNs,
    memory: reused(before?.memory, memory),
    swap: swap && reused(before?.swap, swap),
    ...(pressures && { pressures: reused(before?.pressures, pressures) }),
    ...(more && { more: reused(before?.more, more) }),
  });
}

/**
 * Whether something was counted between two readings of a cgroup. If not, nothing was in those below it either, whose counts are all in its
 * own. Means of pressure come down without that.
 */
export function hasCounted(before: CgroupUsage, now: CgroupUsage): boolean {
  if (before === now) return false;
  const { cpuNs, memory, swap, more, pressures } = before;
  const isSame = now.cpuNs === cpuNs && now.memory === memory && now.swap === swap && now.more === more;
  return !isSame || !haveSameTotals(pressures, now.pressures);
}

/**
 * What a cgroup uses since whose reading nothing was counted in the one above; undefined where that reading does not suffice.
 *
 * @param read reads its means of pressure, where they have not come down yet
 */
export function unchangedUsage(
  before: CgroupUsage,
  detail: UsageDetail,
  read: (file: string) => string | undefined,
): CgroupUsage | undefined {
  if (detail === 'usage') return before;
  const { more, pressures } = before;
  // Where there are details, pressures were asked for.
  if ((detail === 'all' ? more : pressures) === undefined) return undefined;
  const now = pressures && pressuresOf(read, pressures, true);
  return now === undefined ? before : reused(before, { ...before, pressures: reused(pressures, now) });
}

/** The value that follows `name` and a blank at the begin of a line; undefined where there is no such line. */
export function valueOf(text: string | undefined, name: string): number | undefined {
  if (text === undefined) return undefined;
  const begin = `${name} `;
  let at = text.indexOf(begin);
  while (at > 0 && text[at - 1] !== '\n') at = text.indexOf(begin, at + 1);
  if (at === -1) return undefined;
  const end = text.indexOf('\n', at);
  return Number(text.slice(at + begin.length, end === -1 ? undefined : end));
}

/** The number that is a file's whole text; undefined where it is none, such as `max`. */
export function numberOf(text: string | undefined): number | undefined {
  const value = text === undefined || text === '' ? NaN : Number(text);
  return Number.isNaN(value) ? undefined : value;
}
