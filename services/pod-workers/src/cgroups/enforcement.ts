import type { KernelMemory } from '@kubus/cgroup';
import { type NodeConfig, readMachine } from '@kubus/service-kit';
import type { Enforcement } from '../worker/worker-deps.ts';
import { memoryForPods } from './open-cgroups.ts';

/** How the limits of containers are enforced on this machine, as the node is configured. */
export function enforcementOf(config: NodeConfig, { accountsForSwap, pageSize }: KernelMemory): Enforcement {
  const { cpuQuota, cpuPeriodUs, singleProcessOomKill, swapBehavior, memoryQos } = config.pods;
  return {
    cpuQuota,
    cpuPeriodUs: BigInt(cpuPeriodUs),
    singleProcessOomKill,
    ...(accountsForSwap && { swap: { behavior: swapBehavior, capacity: BigInt(readMachine().swapBytes) } }),
    ...(memoryQos && { memoryQos: { ...memoryQos, allocatable: memoryForPods(config), pageSize } }),
  };
}
