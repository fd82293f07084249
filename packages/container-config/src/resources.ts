import { type Container, type Pod, parseQuantity, quantityMilli, quantityUnits } from '@kubus/contracts';
import { type QosClass, qosClass } from '@kubus/pod-status';
import type { LinuxContainerResources } from '@kubus/proto/cri';

/** Kernel bounds and units of CPU shares and quotas (kubelet behaviour 1.20). */
const SHARES_PER_CPU = 1024n;
const MIN_SHARES = 2n;
const MAX_SHARES = 262_144n;
export const CPU_PERIOD_US = 100_000n;
const MIN_QUOTA_US = 1_000n;

/** What a container may use of CPU and memory, and how soon the kernel ends it when memory is short. */
export function containerResources(
  pod: Pick<Pod, 'spec'>,
  container: Pick<Container, 'resources'>,
  memoryCapacity: bigint,
): LinuxContainerResources {
  const { requests = {}, limits = {} } = container.resources ?? {};
  const cpuRequest = milli(requests['cpu'] ?? limits['cpu']);
  const cpuLimit = milli(limits['cpu']);
  const memoryLimit = units(limits['memory']);
  return {
    cpuPeriod: String(CPU_PERIOD_US),
    ...(cpuLimit > 0n && { cpuQuota: String(cpuQuota(cpuLimit)) }),
    cpuShares: String(cpuShares(cpuRequest)),
    ...(memoryLimit > 0n && { memoryLimitInBytes: String(memoryLimit) }),
    oomScoreAdj: String(oomScoreAdj(qosClass(pod), units(requests['memory'] ?? limits['memory']), memoryCapacity)),
  };
}

export function cpuShares(milliCpu: bigint): bigint {
  const shares = (milliCpu * SHARES_PER_CPU) / 1000n;
  return shares < MIN_SHARES ? MIN_SHARES : shares > MAX_SHARES ? MAX_SHARES : shares;
}

export function cpuQuota(milliCpu: bigint): bigint {
  const quota = (milliCpu * CPU_PERIOD_US) / 1000n;
  return quota < MIN_QUOTA_US ? MIN_QUOTA_US : quota;
}

/** Kubelet behaviour 1.20, OOM score. */
export function oomScoreAdj(qos: QosClass, memoryRequest: bigint, memoryCapacity: bigint): number {
  if (qos === 'Guaranteed') return -997;
  if (qos === 'BestEffort') return 1000;
  const score = memoryCapacity === 0n ? 999 : 1000 - Number((1000n * memoryRequest) / memoryCapacity);
  return Math.min(999, Math.max(3, score));
}

function milli(text: string | undefined): bigint {
  const quantity = text === undefined ? undefined : parseQuantity(text);
  return quantity === undefined ? 0n : quantityMilli(quantity);
}

function units(text: string | undefined): bigint {
  const quantity = text === undefined ? undefined : parseQuantity(text);
  return quantity === undefined ? 0n : quantityUnits(quantity);
}
