import { parseQuantity, quantityMilli, quantityUnits } from '@kubus/contracts';
import type { ExclusiveSettings } from '@kubus/exclusive';
import { reservedAmounts } from '@kubus/node-status';
import { type NodeConfig, nodeCapacity } from '@kubus/service-kit';

/** Most NUMA nodes, as in the reference kubelet. */
const USUAL_NODES = 8;

/** The settings of the CPU, memory and topology managers of a node that is configured like this. */
export function exclusiveSettings(
  config: Pick<NodeConfig, 'devices' | 'eviction' | 'exclusive' | 'pods' | 'reserved'>,
): ExclusiveSettings {
  const { devices, exclusive } = config;
  const { system, kube } = config.reserved;
  const reserved = reservedAmounts(nodeCapacity(config), config.reserved);
  const bytes = Object.entries(reserved).filter(([name]) => name === 'memory' || name.startsWith('hugepages-'));
  return {
    cpuManagerPolicy: exclusive.cpuPolicy,
    cpuManagerPolicyOptions: exclusive.cpuOptions,
    gates: exclusive.gates,
    memoryManagerPolicy: exclusive.memoryPolicy,
    topologyManagerPolicy: devices.topologyPolicy,
    topologyManagerScope: devices.topologyScope,
    topologyOptions: {
      preferClosest: devices.preferClosestNodes ?? false,
      mostNodes: devices.mostNodes ?? USUAL_NODES,
    },
    reservedSystemCPUs: exclusive.reservedCpus,
    reservedMilliCpus: milli(system['cpu']) + milli(kube['cpu']),
    reservedBytes: Object.fromEntries(bytes.map(([name, text]) => [name, units(text)])),
    reservedMemory: exclusive.reservedMemory,
  };
}

function milli(text = '0'): number {
  const quantity = parseQuantity(text);
  return quantity === undefined ? 0 : Number(quantityMilli(quantity));
}

function units(text: string): number {
  const quantity = parseQuantity(text);
  return quantity === undefined ? 0 : Number(quantityUnits(quantity));
}
