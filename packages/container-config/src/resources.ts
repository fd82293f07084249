import { type Container, type Pod, formatQuantity } from '@kubus/contracts';
import { aggregateResources } from '@kubus/pod-manifest/pod-resources';
import type { LinuxContainerResources } from '@kubus/proto/cri';
import { limitOf, milli, units } from './amounts.ts';
import { type MemoryQosSettings, type SwapSettings, hugepageLimits, memoryProtection, swapLimit } from './memory.ts';
import { oomScoreAdj } from './oom-score.ts';

/** Kernel bounds and units of CPU shares and quotas (kubelet behaviour 1.20). */
const SHARES_PER_CPU = 1024n;
const MIN_SHARES = 2n;
const MAX_SHARES = 262_144n;
const CPU_PERIOD_US = 100_000n;
const MIN_QUOTA_US = 1_000n;

/** How the node holds pods to their CPU and memory. What is left out is as the reference kubelet has it by default. */
export interface ResourceSettings {
  /** `cpuCFSQuota`: whether CPU limits are enforced. Default: true. */
  readonly cpuQuota?: boolean;
  /** `cpuCFSQuotaPeriod` in microseconds. Default: 100 000. */
  readonly cpuPeriodUs?: bigint;
  /** Whether it has CPUs of its own, on which no quota is needed. Default: false. */
  readonly exclusiveCpus?: boolean;
  /** Version of the node's cgroups. Default: 1. */
  readonly cgroupVersion?: 1 | 2;
  /** `singleProcessOOMKill`: whether the kernel ends one process instead of the whole container. Default: false. */
  readonly singleProcessOomKill?: boolean;
}

export interface ContainerResourceSettings extends ResourceSettings {
  /** Bytes of memory of the node. */
  readonly memoryCapacity: bigint;
  /** Sizes in bytes of the huge pages that the kernel has, in its order. Default: none. */
  readonly hugepageSizes?: readonly bigint[];
  /** Left out where the kernel does not account for swap. */
  readonly swap?: SwapSettings;
  readonly memoryQos?: MemoryQosSettings;
  /** What the CPU and memory managers gave the container, as lists of cpuset(7). */
  readonly cpuset?: { readonly cpus?: string; readonly mems?: string };
}

/** What a container may use of CPU and memory, and how soon the kernel ends it when memory is short. */
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
    // Of cgroup v1: memory and swap together are limited to what memory alone is.
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

/** What a pod's containers may use together; what the pod says of itself wins over their sum. Without its overhead. */
export function sandboxResources({ spec }: Pick<Pod, 'spec'>, settings: ResourceSettings): LinuxContainerResources {
  const total = (kind: 'requests' | 'limits', resource: string) => {
    const sum = aggregateResources(spec, kind).get(resource);
    return spec.resources?.[kind]?.[resource] ?? (sum === undefined ? undefined : formatQuantity(sum));
  };
  return linuxResources(total('requests', 'cpu'), total('limits', 'cpu'), units(total('limits', 'memory')), settings);
}

/** What a pod's sandbox needs beside its containers, from its RuntimeClass. Empty when that asks for nothing. */
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

/** CPU shares of thousandths of a CPU, within what the kernel takes. */
export function cpuShares(milliCpu: bigint): bigint {
  const shares = (milliCpu * SHARES_PER_CPU) / 1000n;
  return shares < MIN_SHARES ? MIN_SHARES : shares > MAX_SHARES ? MAX_SHARES : shares;
}

/** Microseconds of processor time in each period for thousandths of a CPU. */
export function cpuQuota(milliCpu: bigint, periodUs: bigint): bigint {
  const quota = (milliCpu * periodUs) / 1000n;
  return quota < MIN_QUOTA_US ? MIN_QUOTA_US : quota;
}
