import type { KernelMemory } from '@kubus/cgroup';
import { type NodeConfig, podLevelOf, readMachine } from '@kubus/service-kit';
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
export function exclusiveOf(config: NodeConfig): { readonly exclusive?: ExclusiveCpus } {
  const { cpuPolicy, memoryPolicy, withoutQuota, reconcileMs } = config.exclusive;
  const [cpus, memory] = [cpuPolicy === 'static', memoryPolicy === 'Static'];
  if (!cpus && !memory) return {};
  return { exclusive: { cpus, memory, podLevel: podLevelOf(config), withoutQuota, reconcileMs } };
}
