import { type Container, type Pod, formatQuantity } from '@kubus/contracts';
import { aggregateResources } from '@kubus/pod-source/pod-resources';
import type { LinuxContainerResources } from '@kubus/proto/cri';
import { limitOf, milli, units } from './amounts.ts';
import { type MemoryQosSettings, type SwapSettings, hugepageLimits, memoryProtection, swapLimit } from './memory.ts';
import { oomScoreAdj } from './oom-score.ts';

/** Kernel bounds and units of CPU shares and quotas (behaviour:qos-and-cgroups). */
const SHARES_PER_CPU = 1024n;
const MIN_SHARES = 2n;
const MAX_SHARES = 262_144n;
const CPU_PERIOD_US = 100_000n;
const MIN_QUOTA_US = 1_000n;

/** How the node enforces the CPU and memory limits of pods. Defaults are the reference kubelet's. */
export interface ResourceSettings {
  /** `cpuCFSQuota`: whether CPU limits are enforced. Default: true. */
  readonly cpuQuota?: boolean;
  /** `cpuCFSQuotaPeriod` in microseconds. Default: 100 000. */
  readonly cpuPeriodUs?: bigint;
  /** Whether it has exclusive CPUs, on which no quota is needed. Default: false. */
  readonly exclusiveCpus?: boolean;
  /** Version of the node's cgroups. Default: 1. */
  readonly cgroupVersion?: 1 | 2;
  /** `singleProcessOOMKill`: whether the kernel kills only one process instead of the whole container. Default: false. */
  readonly singleProcessOomKill?: boolean;
}

export interface ContainerResourceSettings extends ResourceSettings {
  /** The node's memory, in bytes. */
  readonly memoryCapacity: bigint;
  /** Sizes in bytes of the huge pages that the kernel has, in its order. Default: none. */
  readonly hugepageSizes?: readonly bigint[];
  /** Undefined where the kernel does not account for swap. */
  readonly swap?: SwapSettings;
  readonly memoryQos?: MemoryQosSettings;
  /** What the CPU and memory managers allocated to the container, as lists of cpuset(7). */
  readonly cpuset?: { readonly cpus?: string; readonly mems?: string };
}

/** The CPU and memory that a container may use, and how soon the kernel kills it when memory is short. */
export function containerResources(
  pod: Pick<Pod, 'metadata' | 'spec'>,
  container: Pick<Container, 'name' | 'resources'>,
  settings: ContainerResourceSettings,
): LinuxContainerResources {
  const { memoryCapacity, cpuset = {}, hugepageSizes = [], memoryQos, swap } = settings;
  const memoryLimit = units(limitOf(pod, container, 'memory'));
  const common = linuxResources(
    container.resources?.requests?.['cpu'],
    limitOf(pod, container, 'cpu'),
    memoryLimit,
    settings,
  );
  const unified = { ...common.unified };
  if (settings.cgroupVersion === 2) {
    if (swap !== undefined) unified['memory.swap.max'] = String(swapLimit(pod, container, swap, memoryCapacity));
    if (memoryQos !== undefined) Object.assign(unified, memoryProtection(pod, container, memoryQos));
  }
  return {
    ...common,
    // In cgroup v1, memory and swap together are limited to the limit of memory.
    ...(settings.cgroupVersion !== 2 &&
      swap !== undefined &&
      memoryLimit > 0n && { memorySwapLimitInBytes: String(memoryLimit) }),
    oomScoreAdj: String(oomScoreAdj(pod, container, memoryCapacity)),
    ...(hugepageSizes.length > 0 && { hugepageLimits: hugepageLimits(pod, container, hugepageSizes) }),
    ...(cpuset.cpus !== undefined && { cpusetCpus: cpuset.cpus }),
    ...(cpuset.mems !== undefined && { cpusetMems: cpuset.mems }),
    ...(Object.keys(unified).length > 0 && { unified }),
  };
}

/** What a pod's containers may use together, without overhead; pod-level resources take precedence over their sum. */
export function sandboxResources({ spec }: Pick<Pod, 'spec'>, settings: ResourceSettings): LinuxContainerResources {
  const total = (kind: 'requests' | 'limits', resource: string) => {
    const sum = aggregateResources(spec, kind).get(resource);
    return spec.resources?.[kind]?.[resource] ?? (sum === undefined ? undefined : formatQuantity(sum));
  };
  return linuxResources(total('requests', 'cpu'), total('limits', 'cpu'), units(total('limits', 'memory')), settings);
}

/** The overhead of a pod's sandbox, from its RuntimeClass. Empty when it has none. */
export function sandboxOverhead({ spec }: Pick<Pod, 'spec'>, settings: ResourceSettings): LinuxContainerResources {
  if (spec.overhead === undefined) return {};
  const { cpu, memory } = spec.overhead;
  return linuxResources(cpu, cpu, units(memory), { ...settings, exclusiveCpus: false });
}

function linuxResources(
  cpuRequest: string | undefined,
  cpuLimit: string | undefined,
  memoryLimit: bigint,
  settings: ResourceSettings,
): LinuxContainerResources {
  const { cpuQuota: enforced = true, cpuPeriodUs = CPU_PERIOD_US, exclusiveCpus = false } = settings;
  const limit = milli(cpuLimit);
  const quota = exclusiveCpus ? -1n : limit > 0n ? cpuQuota(limit, cpuPeriodUs) : undefined;
  return {
    cpuShares: String(cpuShares(milli(cpuRequest ?? cpuLimit))),
    ...(enforced && { cpuPeriod: String(cpuPeriodUs), ...(quota !== undefined && { cpuQuota: String(quota) }) }),
    ...(memoryLimit > 0n && { memoryLimitInBytes: String(memoryLimit) }),
    ...(settings.cgroupVersion === 2 &&
      settings.singleProcessOomKill !== true && { unified: { 'memory.oom.group': '1' } }),
  };
}

/** CPU shares for thousandths of a CPU, within the kernel's bounds. */
export function cpuShares(milliCpu: bigint): bigint {
  const shares = (milliCpu * SHARES_PER_CPU) / 1000n;
  return shares < MIN_SHARES ? MIN_SHARES : shares > MAX_SHARES ? MAX_SHARES : shares;
}

/** Microseconds of CPU time in each period for thousandths of a CPU. */
export function cpuQuota(milliCpu: bigint, periodUs: bigint): bigint {
  const quota = (milliCpu * periodUs) / 1000n;
  return quota < MIN_QUOTA_US ? MIN_QUOTA_US : quota;
}
