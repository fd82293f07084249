import { type MemoryReservation, cpuQuota, cpuShares } from '@kubus/container-config';
import {
  type Pod,
  type Quantity,
  type ResourceList,
  parseQuantity,
  quantityMilli,
  quantityUnits,
} from '@kubus/contracts';
import { qosClass } from '@kubus/pod';
import { aggregateResources, isHugePages } from '@kubus/pod-source/pod-resources';

/** What a cgroup may use. An omitted field stays as it is in the kernel; `max`: no limit. */
export interface CgroupLimits {
  /** Its share of the CPUs under contention, in the unit of cgroup v1: 1024 for one CPU. */
  readonly cpuShares?: bigint;
  /** Microseconds of CPU time in each period. */
  readonly cpu?: { readonly quotaUs: bigint; readonly periodUs: bigint } | 'max';
  /** Bytes. */
  readonly memory?: bigint | 'max';
  /** Bytes that the kernel never takes back, and those that it takes back last; with cgroup v2 alone (KEP-2570). */
  readonly memoryMin?: bigint;
  readonly memoryLow?: bigint;
  /** Processes and threads. */
  readonly pids?: bigint;
  /** Bytes by page size in bytes. */
  readonly hugepages?: ReadonlyMap<bigint, bigint>;
  /** Numbers of the processors, ascending. */
  readonly cpus?: readonly number[];
}

/** How the node enforces the limits of its pods. Defaults are those of the reference kubelet. */
export interface PodLimitSettings {
  /** `cpuCFSQuota`: whether CPU limits are enforced. Default: true. */
  readonly cpuQuota?: boolean;
  /** `cpuCFSQuotaPeriod` in microseconds. Default: 100 000. */
  readonly cpuPeriodUs?: bigint;
  /** Whether a pod has no quota, because a container of it has CPUs for itself. Default: none has. */
  readonly isUnlimited?: (pod: Pick<Pod, 'spec'>) => boolean;
  /** `podPidsLimit`. Default: none. */
  readonly pids?: bigint;
  /** Sizes in bytes of the huge pages that the kernel has. Default: none. */
  readonly hugepageSizes?: readonly bigint[];
  /** `memoryReservationPolicy`, with the gate MemoryQoS and cgroup v2. Default: `None`. */
  readonly memoryReservation?: MemoryReservation;
}

const CPU_PERIOD_US = 100_000n;
const MIN_SHARES = 2n;
/** Bytes: more huge pages than any machine has. */
const UNBOUNDED = 1n << 62n;

/**
 * What a pod may use as a whole (behaviour:qos-and-cgroups): its requests determine its shares. A limit applies when it is set for
 * the pod or for all of its containers, because otherwise one container is unlimited. The pod's overhead is
 * added to both.
 */
export function podLimits(pod: Pick<Pod, 'spec'>, settings: PodLimitSettings = {}): CgroupLimits {
  const { cpuQuota: enforced = true, cpuPeriodUs = CPU_PERIOD_US, hugepageSizes = [], pids } = settings;
  const cpu = quantityMilli(limit(pod, 'cpu') ?? nothing);
  const qos = qosClass(pod);
  return {
    cpuShares: qos === 'BestEffort' ? MIN_SHARES : cpuShares(podMilliCpu(pod)),
    cpu:
      enforced && cpu > 0n && settings.isUnlimited?.(pod) !== true
        ? { quotaUs: cpuQuota(cpu, cpuPeriodUs), periodUs: cpuPeriodUs }
        : 'max',
    memory: podMemoryLimit(pod) ?? 'max',
    ...(settings.memoryReservation === 'TieredReservation' && memoryProtection(podMemoryRequest(pod), qos)),
    ...(pids !== undefined && { pids }),
    ...(hugepageSizes.length > 0 && { hugepages: hugepages(totals(pod, 'requests'), hugepageSizes) }),
  };
}

/** Thousandths of a CPU that a pod requests as a whole. */
export function podMilliCpu(pod: Pick<Pod, 'spec'>): bigint {
  return quantityMilli(totals(pod, 'requests').get('cpu') ?? nothing);
}

/** Bytes of memory that a pod requests as a whole. */
export function podMemoryRequest(pod: Pick<Pod, 'spec'>): bigint {
  return quantityUnits(totals(pod, 'requests').get('memory') ?? nothing);
}

function memoryProtection(request: bigint, qos: string): CgroupLimits {
  if (request === 0n) return {};
  return qos === 'Guaranteed' ? { memoryMin: request } : { memoryLow: request };
}

/** The memory limit of a pod as a whole, in bytes; undefined when it has none. */
export function podMemoryLimit(pod: Pick<Pod, 'spec'>): bigint | undefined {
  const memory = limit(pod, 'memory');
  return memory === undefined ? undefined : quantityUnits(memory);
}

interface SharedLimitSettings extends Pick<PodLimitSettings, 'hugepageSizes'> {
  /** The machine's processors. */
  readonly cpus?: readonly number[];
  /** Only what can be taken from a process without ending it: its share of the CPUs (the `-compressible` enforcements). */
  readonly compressible?: boolean;
  /** Whether the kernel takes none of their memory back (the gate MemoryQoS, for what is reserved). */
  readonly protectsMemory?: boolean;
}

/**
 * What a cgroup may use that has these resources (behaviour:qos-and-cgroups), such as the system's own programs. Resources that are not
 * listed are not limited, except huge pages, of which it gets none.
 */
export function sharedLimits(resources: ResourceList, settings: SharedLimitSettings = {}): CgroupLimits {
  const { hugepageSizes = [], cpus, compressible = false, protectsMemory = false } = settings;
  const listed = new Map(Object.entries(resources).map(([name, text]) => [name, parseQuantity(text) ?? nothing]));
  const [cpu, memory, pids] = ['cpu', 'memory', 'pid'].map((name) => listed.get(name));
  const hard = compressible
    ? undefined
    : {
        // To the kernel 0 means that nothing may run.
        ...(memory !== undefined && memory.nano > 0n && { memory: quantityUnits(memory) }),
        ...(memory !== undefined && protectsMemory && { memoryMin: quantityUnits(memory) }),
        ...(pids !== undefined && { pids: quantityUnits(pids) }),
      };
  return {
    ...(cpu !== undefined && { cpuShares: cpuShares(quantityMilli(cpu)) }),
    ...hard,
    ...(hugepageSizes.length > 0 && { hugepages: hugepages(compressible ? new Map() : listed, hugepageSizes) }),
    ...(cpus !== undefined && { cpus }),
  };
}

/**
 * What all pods may use together (behaviour:qos-and-cgroups). Huge pages are limited for each pod: the reference limits them here when it
 * starts, and makes them unbounded with its next update of the tiers.
 */
export function allPodsLimits(
  allocatable: ResourceList,
  { hugepageSizes = [], cpus }: Pick<SharedLimitSettings, 'hugepageSizes' | 'cpus'> = {},
): CgroupLimits {
  return { ...sharedLimits(allocatable, cpus === undefined ? {} : { cpus }), ...unboundedHugepages(hugepageSizes) };
}

/**
 * What the tier of a QoS class gets (behaviour:qos-and-cgroups): the burstable tier the sum of its pods' requests, the best-effort tier
 * the minimum. Huge pages are limited below and above it.
 *
 * @param milliCpu thousandths of a CPU that the tier's pods request together
 */
export function tierLimits(
  tier: 'burstable' | 'besteffort',
  milliCpu: bigint,
  hugepageSizes: readonly bigint[] = [],
): CgroupLimits {
  return {
    cpuShares: tier === 'besteffort' ? MIN_SHARES : cpuShares(milliCpu),
    ...unboundedHugepages(hugepageSizes),
  };
}

function unboundedHugepages(sizes: readonly bigint[]): Pick<CgroupLimits, 'hugepages'> {
  return sizes.length === 0 ? {} : { hugepages: new Map(sizes.map((size) => [size, UNBOUNDED])) };
}

const nothing: Quantity = { nano: 0n, format: 'DecimalSI' };

function totals({ spec }: Pick<Pod, 'spec'>, kind: 'requests' | 'limits'): Map<string, Quantity> {
  const sums = new Map(aggregateResources(spec, kind));
  for (const [name, text] of Object.entries(spec.resources?.[kind] ?? {})) {
    const own = parseQuantity(text);
    if (own !== undefined) sums.set(name, own);
  }
  for (const [name, text] of Object.entries(spec.overhead ?? {})) {
    const overhead = parseQuantity(text);
    const sum = sums.get(name);
    if (overhead === undefined || (kind === 'limits' && (sum?.nano ?? 0n) === 0n)) continue;
    sums.set(name, { ...overhead, nano: (sum?.nano ?? 0n) + overhead.nano });
  }
  return sums;
}

/** A limit that applies to the pod as a whole. */
function limit(pod: Pick<Pod, 'spec'>, name: 'cpu' | 'memory'): Quantity | undefined {
  const { spec } = pod;
  const isSet = (text: string | undefined) => ((text === undefined ? undefined : parseQuantity(text))?.nano ?? 0n) > 0n;
  const ofAll = [...(spec.initContainers ?? []), ...spec.containers].every(({ resources }) =>
    isSet(resources?.limits?.[name]),
  );
  if (!ofAll && !isSet(spec.resources?.limits?.[name])) return undefined;
  return totals(pod, 'limits').get(name);
}

/** Huge pages are never overcommitted: the request is the limit, and none is allowed without one. */
function hugepages(requests: ReadonlyMap<string, Quantity>, sizes: readonly bigint[]): ReadonlyMap<bigint, bigint> {
  const asked = new Map<bigint, bigint>();
  for (const [name, quantity] of requests) {
    const size = isHugePages(name) ? parseQuantity(name.slice(name.indexOf('-') + 1)) : undefined;
    if (size !== undefined) asked.set(quantityUnits(size), quantityUnits(quantity));
  }
  return new Map(sizes.map((size) => [size, asked.get(size) ?? 0n]));
}
