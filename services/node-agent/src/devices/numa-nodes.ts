import { ConfigError, type NodeConfig } from '@kubus/service-kit';
import type { Topology } from '@kubus/device-manager';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';

/** Where the kernel lists NUMA nodes (Documentation/ABI/stable/sysfs-devices-node). */
const NUMA_NODES = '/sys/devices/system/node';

/** Most NUMA nodes, as in the reference kubelet. */
const USUAL_NODES = 8;

/**
 * The machine's NUMA nodes, with the configured policy.
 *
 * @param folder {@link NUMA_NODES}, or one like it
 * @throws ConfigError when the machine has more nodes than the configuration allows, or does not list the distances
 *   between them
 */
export function machineTopology(
  { topologyPolicy: policy, preferClosestNodes = false, mostNodes = USUAL_NODES }: NodeConfig['devices'],
  folder = NUMA_NODES,
): Topology {
  const nodes = online(folder);
  if (policy === 'none') return { policy, nodes };
  if (nodes.length > mostNodes) {
    const problem = `"${policy}" is unsupported on machines with more than ${mostNodes} NUMA nodes: this one has ${nodes.length}`;
    throw new ConfigError('bad-config', `devices.topologyPolicy: ${problem}`);
  }
  return { policy, nodes, distances: preferClosestNodes ? distances(folder, nodes) : undefined };
}

function online(folder: string): readonly number[] {
  const ranges = (text(join(folder, 'online')) ?? '0').split(',');
  return ranges.flatMap((range) => {
    const [first = 0, last = first] = range.split('-').map(Number);
    return Array.from({ length: last - first + 1 }, (_, index) => first + index);
  });
}

/** A row per node, with its distance to each node. */
function distances(folder: string, nodes: readonly number[]): readonly (readonly number[])[] {
  return nodes.map((node) => {
    const file = join(folder, `node${node}/distance`);
    const row = (text(file) ?? '').split(/\s+/).map(Number);
    if (row.length === nodes.length && row.every((distance) => distance > 0)) return row;
    throw new ConfigError(
      'bad-config',
      `devices.preferClosestNodes: ${file} does not list the distances of all NUMA nodes`,
    );
  });
}

/** Undefined when there is no such file. */
function text(file: string): string | undefined {
  try {
    return readFileSync(file, 'utf8').trim();
  } catch {
    return undefined;
  }
}
