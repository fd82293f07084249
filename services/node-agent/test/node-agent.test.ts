import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { clusterNode, networkCondition, typeOf } from '@kubus/contracts';
import type { FoundAddresses } from '../src/node/machine.ts';
import { LEASE, MACHINE, Member, NAME, NODE, RUNTIME, conditionOf, isReady } from './member.ts';

let member: Member;
beforeEach(async () => (member = await Member.make()));
afterEach(() => member.close());

/** A node that is ready, with nothing left to write. */
async function ready(): Promise<void> {
  member.becomeReady();
  await member.start();
  await member.server.waitFor(NODE, isReady);
  await member.server.waitFor(LEASE, () => true);
  await member.settle();
}

test('a node registers, complete and ready, with one request', async () => {
  await ready();
  const node = member.server.get(NODE);
  expect(node).toMatchObject({
    metadata: {
      labels: { own: 'yes', 'kubernetes.io/hostname': NAME, 'kubernetes.io/os': 'linux' },
      annotations: { 'volumes.kubernetes.io/controller-managed-attach-detach': 'true' },
    },
    status: {
      capacity: { cpu: '2', memory: '4Gi', pods: '110' },
      allocatable: { cpu: '1500m' },
      addresses: [{ type: 'InternalIP', address: '10.0.0.1' }],
      daemonEndpoints: { kubeletEndpoint: { Port: 10_250 } },
      nodeInfo: { containerRuntimeVersion: 'containerd://1.6.20', kubeletVersion: 'v1.36.2+kubus.test' },
    },
  });
  const published = await member.untilNode((one) => one !== undefined);
  expect(published).toMatchObject({ uid: node?.metadata.uid, allocatable: { cpu: '1500m' } });
  expect(member.requests('nodes').map(({ verb }) => verb)).toEqual(['create']);
  expect(member.events).toEqual([
    'Starting',
    'NodeHasSufficientMemory',
    'NodeHasNoDiskPressure',
    'NodeHasSufficientPID',
  ]);
});

test('facts that do not arrive in time are not waited for, and are written when they arrive', async () => {
  await member.start();
  await member.server.waitForRequest(({ verb, status }) => verb === 'list' && status === 200);
  await member.pass(2_000);
  expect(member.requests('nodes')).toEqual([]);
  await member.pass(1_000);
  const fresh = await member.server.waitFor(NODE, () => true);
  expect(conditionOf(fresh, 'Ready')).toMatchObject({
    status: 'False',
    message: '[container runtime status check may not have completed yet, network state unknown]',
  });
  await member.untilNode((node) => node !== undefined);
  member.becomeReady();
  await member.server.waitFor(NODE, isReady);
  member.network.put('network', { ready: false, reason: 'Gone', message: 'no file', broken: [] });
  const unready = await member.server.waitFor(NODE, (node) => !isReady(node));
  expect(conditionOf(unready, 'Ready')?.['message']).toBe(
    'container runtime network not ready: NetworkReady=false reason:Gone message:no file',
  );
  await member.settle();
  expect(member.events.slice(-2)).toEqual(['NodeReady', 'NodeNotReady']);
  const [network, object] = [typeOf(networkCondition), typeOf(clusterNode)];
  for (const causes of member.causesOfEvents) expect(causes).toContain(object);
  for (const causes of member.causesOfEvents.slice(-2)) expect(causes).toContain(network);
});

test('a node without any address is not ready, and says why; one that has lost its address stays ready', async () => {
  const address = { type: 'InternalIP', address: '10.0.0.7' };
  const none: FoundAddresses = { problem: 'nodeIps: none is configured' };
  let found: FoundAddresses = none;
  member.becomeReady();
  await member.start({ machine: { ...MACHINE, addresses: () => Promise.resolve(found) } });
  const unready = await member.server.waitFor(NODE, (node) => conditionOf(node, 'Ready')?.['status'] === 'False');
  expect(conditionOf(unready, 'Ready')?.['message']).toBe('nodeIps: none is configured');
  found = { addresses: [address] };
  await member.pass(10_000);
  await member.server.waitFor(NODE, isReady);
  found = none;
  await member.pass(300_000);
  await member.settle();
  const kept = member.server.get(NODE);
  expect([kept?.status?.['addresses'], kept && isReady(kept)]).toEqual([[address], true]);
});

test('nothing is written while nothing changes, except for a periodic heartbeat', async () => {
  await ready();
  await member.pass(290_000);
  expect(member.requests('nodes')).toHaveLength(1);
  await member.pass(30_000);
  const [patch] = member.requests('nodes', 'patch');
  expect(patch?.bodyBytes).toBeLessThan(600);
  expect(conditionOf(member.server.get(NODE), 'Ready')).toMatchObject({
    lastHeartbeatTime: expect.stringMatching(/^2030-01-01T00:05/),
    lastTransitionTime: '2030-01-01T00:00:00Z',
  });
});

test('images are written with the next periodic update', async () => {
  await ready();
  member.images.put(NAME, { images: [{ names: ['a:1'], sizeBytes: 7 }] });
  await member.pass(10_500);
  expect(member.server.get(NODE)?.status?.['images']).toEqual([{ names: ['a:1'], sizeBytes: 7 }]);
});

test('a restarted agent writes nothing that is up to date, and restores its own labels', async () => {
  await ready();
  await member.stop();
  await member.start();
  await member.server.waitForRequest(({ verb, path }) => verb === 'update' && path.includes('leases'));
  await member.pass(10_500);
  expect(member.requests('nodes')).toHaveLength(1);
  await member.stop();
  const labels = { 'kubernetes.io/hostname': 'wrong', own: null, other: 'kept' };
  member.server.patch(NODE, { metadata: { labels } });
  await member.start();
  const { metadata } = await member.server.waitFor(
    NODE,
    (node) => node.metadata.labels?.['kubernetes.io/hostname'] === NAME,
  );
  expect(metadata.labels).toMatchObject({ other: 'kept' });
  expect(metadata.labels).not.toHaveProperty('own');
});

test('edits of the Node object are published at once', async () => {
  await ready();
  const taints = [{ key: 'k', effect: 'NoExecute' }];
  member.server.patch(NODE, { metadata: { labels: { a: 'b' } }, spec: { taints, podCIDRs: ['10.1.0.0/24'] } });
  expect(await member.untilNode((node) => node?.labels['a'] === 'b')).toMatchObject({
    taints,
    podCIDRs: ['10.1.0.0/24'],
  });
  member.server.patch(NODE, { spec: { unschedulable: true } });
  await member.untilNode((node) => node?.unschedulable === true);
  expect(member.events.at(-1)).toBe('NodeNotSchedulable');
  expect(member.requests('nodes')).toHaveLength(1);
});

test('a deleted Node object is created again, with its lease', async () => {
  await ready();
  const { uid } = member.server.get(NODE)?.metadata ?? {};
  member.server.delete(NODE);
  const node = await member.server.waitFor(NODE, ({ metadata }) => metadata.uid !== uid);
  expect(await member.untilNode((one) => one?.uid === node.metadata.uid)).toBeDefined();
  expect(isReady(node)).toBe(true);
  await member.server.waitFor(LEASE, ({ metadata }) => {
    const owners = metadata['ownerReferences'] as { uid: string }[];
    return owners.every((owner) => owner.uid === node.metadata.uid);
  });
});

test('an agent that may not register waits for its Node object', async () => {
  member.becomeReady();
  await member.start({ register: false });
  await member.server.waitForRequest(({ verb, status }) => verb === 'list' && status === 200);
  await member.pass(30_000);
  expect(member.requests('nodes')).toEqual([]);
  member.server.create({ apiVersion: 'v1', kind: 'Node', metadata: { name: NAME } });
  const { metadata } = await member.server.waitFor(NODE, isReady);
  expect(metadata.annotations ?? {}).toEqual({});
  member.server.delete(NODE);
  await member.untilNode((node) => node === undefined);
  await member.pass(30_000);
  expect(member.server.get(NODE)).toBeUndefined();
});

test('a Node object that is created concurrently counts as its own', async () => {
  member.becomeReady();
  const gate = Promise.withResolvers<undefined>();
  member.server.inject({
    when: ({ verb, path }) => verb === 'create' && path.endsWith('/nodes'),
    fault: { kind: 'delay', until: gate.promise },
  });
  await member.start();
  await member.server.waitForRequest(({ verb, path }) => verb === 'create' && path.endsWith('/nodes'));
  member.server.create({ apiVersion: 'v1', kind: 'Node', metadata: { name: NAME, labels: { theirs: 'yes' } } });
  gate.resolve(undefined);
  const { metadata } = await member.server.waitFor(NODE, isReady);
  expect(metadata.labels).toMatchObject({ theirs: 'yes', 'kubernetes.io/hostname': NAME });
});

test('a conflicting write is repeated on the object that is read again', async () => {
  await ready();
  const conflict = member.server.inject({
    when: ({ verb, path }) => verb === 'patch' && path.endsWith('/status'),
    fault: { kind: 'answer', code: 409 },
    times: 3,
  });
  member.runtime.put('runtime', { ...RUNTIME, version: '2.0.0' });
  await member.server.waitFor(NODE, ({ status }) =>
    JSON.stringify(status?.['nodeInfo']).includes('containerd://2.0.0'),
  );
  expect(conflict.hits).toBe(3);
});

test('during an outage retries are slow, and afterwards the changes are written once', async () => {
  await ready();
  await member.server.pause();
  const before = member.server.requests.length;
  member.runtime.put('runtime', { ...RUNTIME, version: '2.0.0' });
  await member.pass(120_000);
  // The number of requests follows from the delays alone: two times 7 that grow, then one every 7 s.
  expect(member.asked).toBeLessThan(2 * (7 + 120 / 7) + 10);
  await member.server.resume();
  expect(member.server.requests).toHaveLength(before);
  await member.pass(14_100);
  expect(member.requests('leases', 'update').length).toBeGreaterThan(0);
  expect(member.requests('nodes', 'patch')).toHaveLength(1);
});

test('a slow API server gets no second request before it has answered', async () => {
  await ready();
  const gate = Promise.withResolvers<undefined>();
  const slow = member.server.inject({
    when: ({ verb, path }) => verb === 'patch' && path.endsWith('/status'),
    fault: { kind: 'delay', until: gate.promise },
  });
  member.runtime.put('runtime', { ...RUNTIME, version: '2.0.0' });
  await member.server.waitForRequest(({ verb, path }) => verb === 'patch' && path.endsWith('/status'));
  member.network.put('network', { ready: false, broken: [] });
  await member.clock.advance(5_000);
  expect(slow.hits).toBe(1);
  gate.resolve(undefined);
  await member.server.waitFor(NODE, (node) => !isReady(node));
  expect(slow.hits).toBe(2);
});
