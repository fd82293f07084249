import { formatBytes } from '@kubus/images';
import { cpuSet, cpuSetText, parseCpuSet } from '@kubus/exclusive';
import { formatTable } from '../output/table.ts';
import type { TopologyView } from './topology-view.ts';

/** The machine from its sockets to its CPUs, who has these, and who has devices. */
export function topologyText(view: TopologyView): string {
  const { policies, devices } = view;
  const { cpu, memory, topology, scope } = policies;
  const parts = [
    `cpuManagerPolicy ${cpu}, memoryManagerPolicy ${memory}, topologyManagerPolicy ${topology} (${scope})`,
    formatTable(['SOCKET', 'NODE', 'CPUS', 'CACHES', 'MEMORY', 'FREE', 'HUGE PAGES', 'DISTANCES'], nodeRows(view)),
    formatTable(['CPUS', 'NODE', 'WHO HAS THEM'], cpuRows(view)),
    ...(devices.length > 0 ? [formatTable(['DEVICE', 'ID', 'NODE', 'WHO HAS IT'], deviceRows(devices))] : []),
  ];
  return parts.join('\n\n');
}

function nodeRows({ machine, memory }: TopologyView): string[][] {
  const { sockets, nodes, caches } = machine;
  return nodes.map(({ id, cpus, memory: bytes, distances, hugePages }) => {
    const within = (others: TopologyView['machine']['sockets']) =>
      others.filter((one) => overlap(one.cpus, cpus).length > 0);
    const free = memory.filter(({ node }) => node === id);
    const freeOf = ({ resource, free: left, allocatable }: (typeof free)[number]) =>
      `${resource === 'memory' ? '' : `${resource} `}${formatBytes(left)} of ${formatBytes(allocatable)}`;
    return [
      within(sockets)
        .map((one) => String(one.id))
        .join(','),
      String(id),
      cpus,
      within(caches)
        .map((one) => one.cpus)
        .join(' '),
      formatBytes(bytes),
      free.map(freeOf).join(', '),
      hugePages.map(({ size, count }) => `${count} x ${formatBytes(size)}`).join(', '),
      distances.join(' '),
    ];
  });
}

function cpuRows(view: TopologyView): string[][] {
  const { machine, reserved = '', shared, containers } = view;
  const all = cpuSetText(cpuSet(machine.sockets.flatMap(({ cpus }) => parseCpuSet(cpus) ?? [])));
  const pool = shared ?? all;
  const lent = overlap(pool, reserved);
  const rest = (parseCpuSet(pool) ?? []).filter((id) => !lent.includes(id));
  const rows: [string, string][] = [
    [reserved, 'reserved'],
    [cpuSetText(rest), 'shared by all containers that have none'],
    ...containers.map(({ cpus = '', uid, pod, name, memory }): [string, string] => {
      const own = memory.map(({ resource, bytes, nodes }) => `${resource} ${formatBytes(bytes)} of node ${nodes}`);
      return [cpus, [`${pod ?? uid} ${name}`, ...own].join(', ')];
    }),
    [machine.isolated, 'isolated by the kernel: only for processes that ask for them'],
    [machine.offline, 'offline'],
  ];
  return rows
    .filter(([cpus, who], at) => cpus !== '' || (at > 1 && at < rows.length - 2 && who !== ''))
    .map(([cpus, who]) => [cpus, nodesOf(view, cpus), who]);
}

function deviceRows(devices: TopologyView['devices']): string[][] {
  return devices.map(({ resource, id, healthy, numaNodes, owners }) => {
    const owner = owners.at(-1);
    const who = owner === undefined ? '' : `${owner.pod ?? owner.uid} ${owner.container}`;
    return [resource, id, numaNodes.join(','), healthy ? who : `${who} (unhealthy)`.trim()];
  });
}

function nodesOf({ machine }: TopologyView, cpus: string): string {
  const found = machine.nodes.filter((node) => overlap(node.cpus, cpus).length > 0);
  return cpuSetText(cpuSet(found.map(({ id }) => id)));
}

function overlap(a: string, b: string): readonly number[] {
  const others = new Set(parseCpuSet(b));
  return (parseCpuSet(a) ?? []).filter((id) => others.has(id));
}
