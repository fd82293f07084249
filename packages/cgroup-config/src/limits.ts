import { cpuQuota, cpuShares } from '@kubus/container-config';
import { type Pod, type Quantity, parseQuantity, quantityMilli, quantityUnits } from '@kubus/contracts';
import { aggregateResources, isHugePages } from '@kubus/pod-manifest/pod-resources';
import { qosClass } from '@kubus/pod-status';

/** What a cgroup may use. What is left out is not limited. */
export interface CgroupLimits {
  /** Its part of the processors when they are short, in the unit of cgroup v1: 1024 for one CPU. */
  readonly cpuShares: bigint;
  /** Microseconds of processor time in each period. */
  readonly cpu?: { readonly quotaUs: bigint; readonly periodUs: bigint };
  /** Bytes. */
  readonly memory?: bigint;
  /** Processes and threads. */
  readonly pids?: bigint;
  /** Bytes by page size in bytes. */
  readonly hugepages?: ReadonlyMap<bigint, bigint>;
}

/** How the node holds its pods to their limits. What is left out is as the reference kubelet has it by default. */
export interface PodLimitSettings {
  /** `cpuCFSQuota`: whether CPU limits are enforced. Default: true. */
  readonly cpuQuota?: boolean;
  /** `cpuCFSQuotaPeriod` in microseconds. Default: 100 000. */
  readonly cpuPeriodUs?: bigint;
  /** `podPidsLimit`. Default: none. */
  readonly pids?: bigint;
  /** Sizes in bytes of the huge pages that the kernel has. Default: none. */
  readonly hugepageSizes?: readonly bigint[];
}

const CPU_PERIOD_US = 100_000n;
const [MIN_SHARES, MAX_SHARES] = [2n, 262_144n];

/**
 * What a pod may use as a whole (kubelet behaviour 1.20): its requests give its shares; a limit counts when the pod has it
 * itself or when all of its containers have one, for otherwise one container could use what it likes. Its overhead is
 * part of both.
 */
export function podLimits(pod: Pick<Pod, 'spec'>, settings: PodLimitSettings = {}): CgroupLimits {
  const { cpuQuota: enforced = true, cpuPeriodUs = CPU_PERIOD_US, hugepageSizes = [], pids } = settings;
  const requests = totals(pod, 'requests');
  const cpu = quantityMilli(limit(pod, 'cpu') ?? nothing);
  const memory = podMemoryLimit(pod);
  const bestEffort = qosClass(pod) === 'BestEffort';
  return {
    cpuShares: bestEffort ? MIN_SHARES : cpuShares(quantityMilli(requests.get('cpu') ?? nothing)),
    ...(enforced && cpu > 0n && { cpu: { quotaUs: cpuQuota(cpu, cpuPeriodUs), periodUs: cpuPeriodUs } }),
    ...(memory !== undefined && { memory }),
    ...(pids !== undefined && { pids }),
    ...(hugepageSizes.length > 0 && { hugepages: hugepages(requests, hugepageSizes) }),
  };
}

/** Bytes of memory to which a pod is limited as a whole; undefined when it is not. */
export function podMemoryLimit(pod: Pick<Pod, 'spec'>): bigint | undefined {
  const memory = limit(pod, 'memory');
  return memory === undefined ? undefined : quantityUnits(memory);
}

/** What the pods of the node may use together: what the node has for them. */
export function nodeLimits(allocatable: { readonly milliCpu: bigint; readonly memory: bigint }): CgroupLimits {
  return { cpuShares: cpuShares(allocatable.milliCpu), memory: allocatable.memory };
}

/** What a class's tier gets: the burstable one what its pods have together, the other one the least. */
export function tierLimits(tier: 'burstable' | 'besteffort', podShares: readonly bigint[]): CgroupLimits {
  const sum = tier === 'besteffort' ? 0n : podShares.reduce((total, shares) => total + shares, 0n);
  return { cpuShares: sum < MIN_SHARES ? MIN_SHARES : sum > MAX_SHARES ? MAX_SHARES : sum };
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

/** A limit that holds for the pod as a whole. */
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
