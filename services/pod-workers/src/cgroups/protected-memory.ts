import type { PodCgroupTree } from '@kubus/cgroup';
import type { Metrics } from '@kubus/service-kit';

/** Shows how much memory is protected for the pods of each class (behaviour:agent-metrics), with the gate MemoryQoS. */
export function showProtectedMemory(metrics: Pick<Metrics, 'add'>, tree: Pick<PodCgroupTree, 'protectedMemory'>): void {
  metrics.add({
    type: 'gauge',
    name: 'kubelet_memory_qos_node_memory_min_bytes',
    help: 'Bytes of memory that the kernel never takes from Guaranteed pods.',
    collect: () => Number(tree.protectedMemory.pods - tree.protectedMemory.burstable),
  });
  metrics.add({
    type: 'gauge',
    name: 'kubelet_memory_qos_node_memory_low_bytes',
    help: 'Bytes of memory that the kernel takes from Burstable pods last.',
    collect: () => Number(tree.protectedMemory.burstable),
  });
}
