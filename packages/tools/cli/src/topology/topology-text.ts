import { type TopologyView, topologyRows } from '@kubus/causality';
import type { TopologyDocument } from '@kubus/contracts/observatory';
import { formatTable } from '../output/table.ts';

/** The machine from its sockets to its CPUs, who has these, and who has devices. */
export function topologyText(view: TopologyView): string {
  const { cpu, memory, topology, scope } = view.policies;
  const { nodes, cpus, devices, claims } = topologyRows(view);
  const parts = [
    `cpuManagerPolicy ${cpu}, memoryManagerPolicy ${memory}, topologyManagerPolicy ${topology} (${scope})`,
    formatTable(
      ['SOCKET', 'NODE', 'CPUS', 'CACHES', 'MEMORY', 'FREE', 'HUGE PAGES', 'DISTANCES'],
      nodes.map(({ id, groups, ...of }) => {
        const caches = groups.flatMap(({ cache }) => cache ?? []).join(' ');
        return [of.sockets, String(id), of.cpus, caches, of.memory, of.free, of.hugePages, of.distances];
      }),
    ),
    formatTable(
      ['CPUS', 'NODE', 'WHO HAS THEM'],
      cpus.map(({ cpus: ids, nodes: of, who }) => [ids, of, who]),
    ),
    ...(devices.length > 0 ? [formatTable(['DEVICE', 'ID', 'NODE', 'WHO HAS IT'], deviceRows(devices))] : []),
    ...(claims.length > 0
      ? [
          formatTable(
            ['CLAIM', 'DRIVER', 'DEVICE', 'HEALTH', 'WHO USES IT'],
            claims.map(({ claim, driver, device, health, who }) => [claim, driver, device, health, who]),
          ),
        ]
      : []),
  ];
  return parts.join('\n\n');
}

function deviceRows(devices: TopologyDocument['devices']): string[][] {
  return devices.map(({ resource, id, nodes, healthy, who }) => {
    return [resource, id, nodes, healthy ? who : `${who} (unhealthy)`.trim()];
  });
}
