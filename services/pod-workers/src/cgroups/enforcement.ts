import type { KernelMemory } from '@kubus/cgroup';
import { type NodeConfig, readMachine } from '@kubus/service-kit';
import type { Enforcement, ExclusiveCpus } from '../worker/worker-deps.ts';
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

/** What containers can have for themselves; nothing where no manager has a policy. */
export function exclusiveOf({ exclusive }: NodeConfig): { readonly exclusive?: ExclusiveCpus } {
  const { cpuPolicy, memoryPolicy, withoutQuota, reconcileMs } = exclusive;
  const [cpus, memory] = [cpuPolicy === 'static', memoryPolicy === 'Static'];
  return cpus || memory ? { exclusive: { cpus, memory, withoutQuota, reconcileMs } } : {};
}
