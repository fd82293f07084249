import { type Pressures, haveSameTotals, pressuresOf } from './pressure.ts';
import { reused } from './reused.ts';

/** How much detail about a cgroup is requested. Each level contains those before it. */
export type UsageDetail = 'usage' | 'pressure' | 'all';

/** What a cgroup uses, including all cgroups below it. Times are nanoseconds, sizes bytes. */
export interface CgroupUsage {
  /** CPU time since the cgroup was created. */
  readonly cpuNs: number;
  readonly memory: MemoryUsage;
  /** Undefined where the kernel does not account for swap. */
  readonly swap: { readonly bytes: number; readonly limitBytes: number | undefined } | undefined;
  /** From level `pressure` on, where the kernel reports it. */
  readonly pressures?: Pressures;
  /** At level `all`. */
  readonly more?: CgroupDetails;
}

export interface MemoryUsage {
  readonly usageBytes: number;
  /** The working set, which cannot be reclaimed at once: the usage without file pages that were not used recently. */
  readonly workingSetBytes: number;
  readonly rssBytes: number;
  readonly cacheBytes: number;
  readonly mappedBytes: number;
  readonly activeFileBytes: number;
  readonly inactiveFileBytes: number;
  readonly faults: PageFaults;
  /** The same without the cgroups below, where the kernel reports it. */
  readonly ownFaults?: PageFaults;
  /** The cgroup's own limit; undefined: none. */
  readonly limitBytes: number | undefined;
}

interface PageFaults {
  readonly all: number;
  /** Major page faults: those for which data had to be read. */
  readonly major: number;
}

/** Details that only a caller at level `all` requests. */
export interface CgroupDetails {
  readonly userNs: number;
  readonly systemNs: number;
  /** Undefined where the CPU time is not limited. */
  readonly throttling: Throttling | undefined;
  readonly kernelBytes: number;
  /** The greatest usage so far; 0 where the kernel does not report it. */
  readonly peakBytes: number;
  /** How often the limit was reached. */
  readonly limitHits: number;
  /** Processes that were killed by the OOM killer. */
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
  /** Below this usage the cgroup is protected when memory is scarce; undefined: none. */
  readonly reservationBytes: number | undefined;
}

/** What the limit of the CPU time has done, in numbers of periods and in nanoseconds. */
interface Throttling {
  readonly periods: number;
  readonly throttled: number;
  readonly throttledNs: number;
  /** Periods in which saved time was used; 0 where the kernel does not report it. */
  readonly bursts: number;
  readonly burstNs: number;
}

/** What was written to and read from one disk. */
export interface DiskUsage {
  /** `major:minor`. */
  readonly device: string;
  readonly reads: number;
  readonly writes: number;
  readonly readBytes: number;
  readonly writtenBytes: number;
}

/** The memory of the machine, in bytes: for the root cgroup, of which v2 reports no usage, and whose limits are never its own. */
export interface MachineMemory {
  readonly usageBytes: number;
  readonly limitBytes: number;
  readonly swapBytes: number;
  readonly swapLimitBytes: number;
}

/** The text of a cgroup's file in the hierarchy of a controller; undefined where there is none. */
export type ReadCgroupFile = (controller: string, file: string) => string | undefined;

/** How the usage of a cgroup is read. */
export interface UsageSource {
  readonly read: ReadCgroupFile;
  /** Reads files that do not change until a program writes them. Default: `read`. */
  readonly setting?: ReadCgroupFile;
  /**
   * The previous usage. If the CPU time is unchanged, none of the cgroup's processes has run since, and values that only
   * processes change are taken from there: nine of fifteen files of an idle container. Values that change without processes are read
   * again: pages that are reclaimed or written later, waiting for disks, averages of pressure.
   */
  readonly before?: CgroupUsage | undefined;
}

interface UsageParts extends Pick<CgroupUsage, 'cpuNs' | 'memory' | 'swap'> {
  /** Reads the values of level `all`; `idle`: the previous details, where none of the processes has run since. */
  readonly details: (idle: CgroupDetails | undefined) => CgroupDetails;
}

/** What the cgroup uses, as far as it is requested or known; parts that are equal to the previous ones are the same objects. */
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
 * Whether any counter of a cgroup has changed between two readings. If not, those of the cgroups below have not either, because
 * its counters include theirs. Averages of pressure decrease even when no counter changes.
 */
export function hasCounted(before: CgroupUsage, now: CgroupUsage): boolean {
  if (before === now) return false;
  const { cpuNs, memory, swap, more, pressures } = before;
  const isSame = now.cpuNs === cpuNs && now.memory === memory && now.swap === swap && now.more === more;
  return !isSame || !haveSameTotals(pressures, now.pressures);
}

/**
 * The usage of a cgroup whose parent's counters have not changed since its last reading; undefined where that reading does not suffice.
 *
 * @param read reads its averages of pressure, where they have not reached zero yet
 */
export function unchangedUsage(
  before: CgroupUsage,
  detail: UsageDetail,
  read: (file: string) => string | undefined,
): CgroupUsage | undefined {
  if (detail === 'usage') return before;
  const { more, pressures } = before;
  // Details are only read together with pressures.
  if ((detail === 'all' ? more : pressures) === undefined) return undefined;
  const now = pressures && pressuresOf(read, pressures, true);
  return now === undefined ? before : reused(before, { ...before, pressures: reused(pressures, now) });
}

/** The value that follows `name` and a space at the beginning of a line; undefined where there is no such line. */
export function valueOf(text: string | undefined, name: string): number | undefined {
  if (text === undefined) return undefined;
  const begin = `${name} `;
  let at = text.indexOf(begin);
  while (at > 0 && text[at - 1] !== '\n') at = text.indexOf(begin, at + 1);
  if (at === -1) return undefined;
  const end = text.indexOf('\n', at);
  return Number(text.slice(at + begin.length, end === -1 ? undefined : end));
}

/** The number that is a file's whole text; undefined where the text is not a number, such as `max`. */
export function numberOf(text: string | undefined): number | undefined {
  const value = text === undefined || text === '' ? NaN : Number(text);
  return Number.isNaN(value) ? undefined : value;
}
