import { PodCgroupTree } from '@kubus/cgroup';
import { type Pod, type ResourceList, parseQuantity, quantityUnits } from '@kubus/contracts';
import { isWithoutQuota } from '@kubus/exclusive';
import { withoutReserved } from '@kubus/node-status';
import type { Clock } from '@kubus/ports';
import { type NodeConfig, nodeCapacity, podLevelOf } from '@kubus/service-kit';
import { readFileSync } from 'node:fs';

/** The pods' cgroups, and what they need until the service ends. */
export interface OpenCgroups {
  readonly tree: PodCgroupTree;
  readonly close: () => Promise<void>;
}

/** Prepares the pods' cgroups as the node is configured; nothing is connected or made yet. */
export async function openCgroups(config: NodeConfig, clock: Clock): Promise<OpenCgroups> {
  const { cgroupDriver: driver, cpuQuota, cpuPeriodUs, pidsLimit, memoryQos } = config.pods;
  const { qosMemoryPercent: percent } = config.reserved;
  const { exclusive } = config;
  const options = {
    root: config.runtime.cgroupRoot,
    driver,
    allocatable: shared(config),
    ...(percent !== undefined && { reserve: { percent: BigInt(percent), allocatable: memoryForPods(config) } }),
    ...(memoryQos !== undefined && { memoryReservation: memoryQos.reservation }),
    cpuQuota,
    cpuPeriodUs: BigInt(cpuPeriodUs),
    ...(exclusive.cpuPolicy === 'static' &&
      exclusive.withoutQuota && { isUnlimited: (pod: Pick<Pod, 'spec'>) => isWithoutQuota(pod, podLevelOf(config)) }),
    ...(pidsLimit !== undefined && { pids: BigInt(pidsLimit) }),
  };
  if (driver === 'cgroupfs') return { tree: new PodCgroupTree(options), close: () => Promise.resolve() };
  const { Systemd } = await import('@kubus/dbus');
  const units = new Systemd({ clock });
  return { tree: new PodCgroupTree({ ...options, units }), close: () => units.close() };
}

/**
 * What all pods may use together (behaviour:qos-and-cgroups): all that the machine has, without what is reserved where that is enforced. Free
 * space that a hard eviction protects is enforced by eviction, not by a limit.
 */
function shared(config: NodeConfig): ResourceList {
  return config.reserved.enforce.includes('pods') ? notReserved(config) : capacityOf(config);
}

/** Bytes of memory that the machine has besides what is reserved, whether that is enforced or not. */
export function memoryForPods(config: NodeConfig): bigint {
  const memory = parseQuantity(notReserved(config)['memory'] ?? '0');
  return memory === undefined ? 0n : quantityUnits(memory);
}

function notReserved(config: NodeConfig): ResourceList {
  const { system, kube } = config.reserved;
  return withoutReserved(capacityOf(config), [system, kube]);
}

function capacityOf(config: NodeConfig): ResourceList {
  return { ...nodeCapacity(config), ...processes() };
}

/** The most processes and threads that the kernel takes. */
function processes(): ResourceList {
  const limits = ['pid_max', 'threads-max'].map((name) => Number(readFileSync(`/proc/sys/kernel/${name}`, 'utf8')));
  return { pid: String(Math.min(...limits)) };
}
