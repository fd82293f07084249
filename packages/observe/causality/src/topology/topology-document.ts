import type { NodeTopology } from '@kubus/contracts';
import type {
  CpuOwner,
  TopologyClaim,
  TopologyDevice,
  TopologyDocument,
  TopologyNode,
} from '@kubus/contracts/observatory';
import { cpuSet, cpuSetText, parseCpuSet } from '@kubus/exclusive';
import { formatBytes } from '@kubus/images';
import type { RecordedTopology } from './topology-facts.ts';
import { type TopologyView, topologyView } from './topology-view.ts';

/** More changes than anyone steps through. */
const MOST_MOMENTS = 1000;

/**
 * What `kubus topology` and the page show of a node. Undefined: at that moment its machine is not known.
 *
 * @param pods `namespace/name` of pods by their UID
 */
export function topologyDocument(
  facts: RecordedTopology,
  pods: ReadonlyMap<string, string>,
): TopologyDocument | undefined {
  const { topology, moments } = facts;
  if (topology === undefined) return undefined;
  const view = topologyView({ ...facts, topology, pods });
  return { moments: moments.slice(-MOST_MOMENTS), policies: view.policies, ...topologyRows(view) };
}

/** The lines of what `kubus topology` prints, which the page draws. */
export function topologyRows(view: TopologyView): Pick<TopologyDocument, 'nodes' | 'cpus' | 'devices' | 'claims'> {
  return { nodes: nodesOf(view), cpus: cpusOf(view), devices: devicesOf(view), claims: claimsOf(view) };
}

function nodesOf({ machine, memory }: TopologyView): TopologyNode[] {
  const { sockets, nodes, caches } = machine;
  return nodes.map(({ id, cpus, memory: bytes, distances, hugePages }) => {
    const free = memory.filter(({ node }) => node === id);
    const freeOf = ({ resource, free: left, allocatable }: (typeof free)[number]) =>
      `${resource === 'memory' ? '' : `${resource} `}${formatBytes(left)} of ${formatBytes(allocatable)}`;
    return {
      ...{ id, cpus, memory: formatBytes(bytes), distances: distances.join(' ') },
      sockets: sockets
        .filter((one) => overlap(one.cpus, cpus).length > 0)
        .map((one) => String(one.id))
        .join(','),
      groups: groupsOf(machine, parseCpuSet(cpus) ?? [], caches),
      free: free.map(freeOf).join(', '),
      hugePages: hugePages.map(({ size, count }) => `${count} x ${formatBytes(size)}`).join(', '),
    };
  });
}

/** The cores of a NUMA node by the caches that they share. */
function groupsOf(
  { cores }: NodeTopology['machine'],
  ids: readonly number[],
  caches: NodeTopology['machine']['caches'],
): TopologyNode['groups'] {
  const coreOf = new Map(cores.flatMap((text) => (parseCpuSet(text) ?? []).map((id) => [id, text])));
  const coresOf = (of: readonly number[]) => [...Map.groupBy(of, (id) => coreOf.get(id) ?? String(id)).values()];
  const shared = caches
    .map(({ cpus }) => ({ cache: cpus, ids: overlap(cpus, cpuSetText(ids)) }))
    .filter((one) => one.ids.length > 0);
  const grouped = new Set(shared.flatMap((one) => one.ids));
  const rest = ids.filter((id) => !grouped.has(id));
  return [
    ...shared.map((one) => ({ cache: one.cache, cores: coresOf(one.ids) })),
    ...(rest.length > 0 ? [{ cores: coresOf(rest) }] : []),
  ];
}

function cpusOf(view: TopologyView): CpuOwner[] {
  const { machine, reserved = '', shared, containers } = view;
  const all = cpuSetText(cpuSet(machine.sockets.flatMap(({ cpus }) => parseCpuSet(cpus) ?? [])));
  const pool = shared ?? all;
  const lent = overlap(pool, reserved);
  const rest = (parseCpuSet(pool) ?? []).filter((id) => !lent.includes(id));
  const rows: Pick<CpuOwner, 'kind' | 'cpus' | 'who' | 'uid'>[] = [
    { kind: 'reserved', cpus: reserved, who: 'reserved' },
    { kind: 'shared', cpus: cpuSetText(rest), who: 'shared by all containers that have none' },
    ...containers.map(({ cpus = '', uid, pod, name, memory }) => {
      const own = memory.map(({ resource, bytes, nodes }) => `${resource} ${formatBytes(bytes)} of node ${nodes}`);
      return { kind: 'own' as const, cpus, uid, who: [`${pod ?? uid} ${name}`, ...own].join(', ') };
    }),
    {
      kind: 'isolated',
      cpus: machine.isolated,
      who: 'isolated by the kernel: only for processes that ask for them',
    },
    { kind: 'offline', cpus: machine.offline, who: 'offline' },
  ];
  return rows
    .filter(({ kind, cpus }) => cpus !== '' || kind === 'own')
    .map((row) => ({ ...row, ids: parseCpuSet(row.cpus) ?? [], nodes: numaNodesOf(view, row.cpus) }));
}

function devicesOf({ devices }: TopologyView): TopologyDevice[] {
  return devices.map(({ resource, id, healthy, numaNodes, owners }) => {
    const owner = owners.at(-1);
    return {
      ...{ resource, id, healthy, nodes: numaNodes.join(',') },
      who: owner === undefined ? '' : `${owner.pod ?? owner.uid} ${owner.container}`,
      ...(owner !== undefined && { uid: owner.uid }),
    };
  });
}

function claimsOf({ claims }: TopologyView): TopologyClaim[] {
  return claims.map(({ pod, uid, ...one }) => ({ ...claimText(one), uid, who: pod ?? uid }));
}

/** A device of a claim in words. */
export function claimText({
  claim,
  driver,
  pool,
  device,
  health,
  healthMessage,
}: Omit<TopologyView['claims'][number], 'uid' | 'pod'>): Pick<TopologyClaim, 'claim' | 'driver' | 'device' | 'health'> {
  const said = healthMessage === undefined ? '' : ` (${healthMessage})`;
  return { claim, driver, device: `${pool}/${device}`, health: `${health ?? 'Unknown'}${said}` };
}

function numaNodesOf({ machine }: TopologyView, cpus: string): string {
  const found = machine.nodes.filter((node) => overlap(node.cpus, cpus).length > 0);
  return cpuSetText(cpuSet(found.map(({ id }) => id)));
}

function overlap(a: string, b: string): readonly number[] {
  const others = new Set(parseCpuSet(b));
  return (parseCpuSet(a) ?? []).filter((id) => others.has(id));
}
