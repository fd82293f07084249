import type { PodSummary, TopologyDocument } from '@kubus/contracts/observatory';

/** Two NUMA nodes with two caches each: the first pod has CPUs, a device and a claim from the tenth second of the recording on. */
export function topologyOf(pods: readonly PodSummary[], began: number, at = Infinity): TopologyDocument {
  const [pod] = pods;
  const has = pod !== undefined && at >= began + 10_000;
  const who = `${pod?.namespace}/${pod?.name}`;
  const uid = pod?.uid ?? '';
  const group = (first: number) => ({
    cache: `${first}-${first + 3}`,
    cores: [
      [first, first + 1],
      [first + 2, first + 3],
    ],
  });
  const node = (id: number) => ({
    ...{ id, sockets: String(id), cpus: `${id * 8}-${id * 8 + 7}`, memory: '64.0 GiB', free: '60.0 GiB of 64.0 GiB' },
    ...{
      hugePages: '512 x 2.0 MiB',
      distances: id === 0 ? '10 21' : '21 10',
      groups: [group(id * 8), group(id * 8 + 4)],
    },
  });
  const rest = Array.from({ length: has ? 13 : 15 }, (_, index) => index + 1);
  return {
    moments: [began, began + 10_000],
    policies: { cpu: 'static', memory: 'Static', topology: 'single-numa-node', scope: 'container' },
    nodes: [node(0), node(1)],
    cpus: [
      { kind: 'reserved', cpus: '0', ids: [0], nodes: '0', who: 'reserved' },
      {
        ...{ kind: 'shared', cpus: `1-${rest.length}`, ids: rest, nodes: '0-1' },
        who: 'shared by all containers that have none',
      },
      ...(has ? [{ kind: 'own' as const, cpus: '14-15', ids: [14, 15], nodes: '1', who: `${who} main`, uid }] : []),
    ],
    devices: ['gpu-0', 'gpu-1'].map((id, index) => ({
      ...{ resource: 'example.com/gpu', id, nodes: String(index), healthy: true },
      ...(has && index === 1 ? { who: `${who} main`, uid } : { who: '' }),
    })),
    claims: has
      ? [
          {
            claim: 'nic',
            driver: 'nic.example.com',
            device: 'node0/nic-0',
            health: 'Unhealthy (link is down)',
            who,
            uid,
          },
        ]
      : [],
  };
}
