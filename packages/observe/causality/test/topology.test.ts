import { expect, test } from '@jest/globals';
import { LocalBroker } from '@kubus/bus/testing';
import { type NodeTopology, claimUse, deviceAllocation, deviceResource, nodeTopology } from '@kubus/contracts';
import { ManualClock } from '@kubus/ports/testing';
import { type TopologyFacts, podTimeline, topologyDocument, topologyFactsAt } from '../src/index.ts';

const BEGAN = Date.UTC(2030, 0, 1);
const GI = 2 ** 30;

function topology(shared: string): NodeTopology {
  return {
    machine: {
      sockets: [{ id: 0, cpus: '0-5' }],
      nodes: [{ id: 0, cpus: '0-5', memory: GI, distances: [10], hugePages: [] }],
      cores: ['0-1', '2-3'],
      caches: [{ id: 0, cpus: '0-3' }],
      ...{ offline: '', isolated: '' },
    },
    policies: { cpu: 'static', memory: 'None', topology: 'none', scope: 'container' },
    ...{ reserved: '0', shared, memory: [] },
    containers: shared === '0-5' ? [] : [{ uid: 'u1', name: 'main', cpus: '2-3', memory: [] }],
  };
}

/** CPUs, a device and a claim are given to a pod after 1 s, and freed after 2 s. */
async function recorded() {
  const broker = new LocalBroker('node0');
  const clock = new ManualClock(BEGAN);
  const { bus } = broker.join('node-agent', clock);
  const [machine, resources] = [bus.owner(nodeTopology), bus.owner(deviceResource)];
  const [allocations, claims] = [bus.owner(deviceAllocation), bus.owner(claimUse)];
  machine.put('node0', topology('0-5'));
  resources.put('a.test/nic', { resource: 'a.test/nic', devices: [{ id: 'n0', healthy: true }], gone: false });
  await clock.advance(1000);
  machine.put('node0', topology('0-1,4-5'));
  const given = { resource: 'a.test/nic', devices: [{ id: 'n0', topology: { numaNodes: [0] } }] };
  const ref = { uid: 'u1', namespace: 'default', name: 'web' };
  allocations.put('u1', { ref, containers: [{ name: 'main', resources: [given] }] }, { pod: 'u1' });
  const device = { pool: 'p', device: 'd', requests: [], cdiDevices: [], health: 'Healthy' as const };
  const drivers = [{ driver: 'b.test', devices: [device] }];
  claims.put('u1', { claims: [{ name: 'gpu', uid: 'c', drivers }] }, { pod: 'u1' });
  await clock.advance(1000);
  machine.put('node0', topology('0-5'));
  allocations.remove('u1', { pod: 'u1' });
  claims.remove('u1', { pod: 'u1' });
  return broker.said.map((message, index) => ({ seq: index + 1, stored: clock.now(), message }));
}

const pods = new Map([['u1', 'default/web']]);
const claim = { claim: 'gpu', driver: 'b.test', device: 'p/d', health: 'Healthy' };

test('who has what at a moment of a recording, and when that changes', async () => {
  const all = await recorded();
  const read = (type: string) => all.filter(({ message }) => message.headers['Kubus-Type']?.startsWith(`${type}/`));
  const at = (ms: number | undefined) => topologyDocument(topologyFactsAt(read, ms && BEGAN + ms), pods);
  const cpus = (ms: number | undefined) => at(ms)?.cpus.map(({ kind, cpus: ids, who }) => [kind, ids, who]);
  expect(cpus(1500)).toEqual([
    ['reserved', '0', 'reserved'],
    ['shared', '1,4-5', 'shared by all containers that have none'],
    ['own', '2-3', 'default/web main'],
  ]);
  expect(at(1500)?.devices).toEqual([
    { resource: 'a.test/nic', id: 'n0', nodes: '', healthy: true, who: 'default/web main', uid: 'u1' },
  ]);
  expect(at(1500)?.claims).toEqual([{ ...claim, who: 'default/web', uid: 'u1' }]);
  expect(at(1500)?.nodes[0]?.groups).toEqual([
    {
      cache: '0-3',
      cores: [
        [0, 1],
        [2, 3],
      ],
    },
    { cores: [[4], [5]] },
  ]);
  for (const ms of [500, undefined]) {
    expect(cpus(ms)?.map(([kind]) => kind)).toEqual(['reserved', 'shared']);
    expect([at(ms)?.claims, at(ms)?.devices[0]?.who]).toEqual([[], '']);
  }
  expect(at(undefined)?.moments).toEqual([BEGAN, BEGAN + 1000, BEGAN + 2000]);
  expect(at(-1)).toBeUndefined();
});

test('in a recording that goes on, what it never says is as it is now', () => {
  const now: TopologyFacts = {
    ...{ topology: topology('0-1,4-5'), resources: [], allocations: new Map(), claims: new Map() },
  };
  expect(
    topologyDocument(
      topologyFactsAt(() => [], BEGAN, now),
      pods,
    )?.cpus,
  ).toHaveLength(3);
  expect(
    topologyDocument(
      topologyFactsAt(() => [], BEGAN),
      pods,
    ),
  ).toBeUndefined();
});

test('the devices and claims of a pod are those that it had last', async () => {
  const { devices, claims } = podTimeline('u1', await recorded());
  expect(devices).toEqual([{ container: 'main', resource: 'a.test/nic', id: 'n0', nodes: '0' }]);
  expect(claims).toEqual([claim]);
  expect(podTimeline('u2', await recorded())).not.toHaveProperty('devices');
});
