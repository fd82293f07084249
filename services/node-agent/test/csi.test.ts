import { afterEach, beforeEach, expect, test } from '@jest/globals';
import type { CsiPlugin } from '@kubus/contracts';
import type { KubeObject } from '@kubus/kube-fixture';
import { Member, NAME, NODE, isReady } from './member.ts';

const CSI_NODE = { kind: 'CSINode', name: NAME };
const NODE_IDS = 'csi.volume.kubernetes.io/nodeid';
const plugin: CsiPlugin = { driver: 'd.test', nodeId: 'n1', maxVolumes: 5, topology: { 'zone.test/a': 'one' } };
const driver = { name: 'd.test', nodeID: 'n1', topologyKeys: ['zone.test/a'], allocatable: { count: 5 } };

let member: Member;
beforeEach(async () => {
  member = await Member.make();
  member.becomeReady();
  await member.start();
  await member.server.waitFor(NODE, isReady);
});
afterEach(() => member.close());

const drivers = ({ spec }: KubeObject) => spec?.['drivers'];
const hasDrivers = (...wanted: object[]) =>
  member.server.waitFor(CSI_NODE, (node) => JSON.stringify(drivers(node)) === JSON.stringify(wanted));
const annotation = ({ metadata }: KubeObject) => metadata.annotations?.[NODE_IDS];
const writes = () => member.server.requests.filter(({ verb, plural }) => verb === 'update' && plural === 'csinodes');

test('a registered driver is added to the CSINode and an unregistered one removed, but its topology labels stay', async () => {
  const { metadata } = await hasDrivers();
  const { uid } = member.server.get(NODE)?.metadata ?? {};
  expect(metadata['ownerReferences']).toEqual([{ apiVersion: 'v1', kind: 'Node', name: NAME, uid }]);
  member.plugins.put('d.test', plugin);
  await hasDrivers(driver);
  const node = await member.server.waitFor(NODE, (one) => annotation(one) !== undefined);
  expect(node.metadata).toMatchObject({ annotations: { [NODE_IDS]: '{"d.test":"n1"}' }, labels: plugin.topology });
  member.plugins.put('d.test', { ...plugin, nodeId: 'n2' });
  await hasDrivers({ ...driver, nodeID: 'n2' });
  await member.settle();
  member.plugins.complete();
  member.plugins.remove('d.test');
  await hasDrivers();
  const left = await member.server.waitFor(NODE, (one) => annotation(one) === undefined);
  expect(left.metadata.labels).toMatchObject(plugin.topology);
});

test('a restarted agent removes no driver before all are known, and writes nothing that is up to date', async () => {
  await hasDrivers();
  await member.stop();
  member.server.patch(CSI_NODE, { spec: { drivers: [driver] } });
  member.server.patch(NODE, { metadata: { annotations: { [NODE_IDS]: '{"d.test":"n1"}' } } });
  await member.start();
  await member.settle();
  expect(writes()).toEqual([]);
  member.plugins.put('e.test', { driver: 'e.test', nodeId: 'e', topology: {} });
  const other = { name: 'e.test', nodeID: 'e', topologyKeys: [] };
  await hasDrivers(driver, other);
  await member.server.waitFor(NODE, (one) => annotation(one) === '{"d.test":"n1","e.test":"e"}');
  expect(writes()).toHaveLength(1);
  member.plugins.complete();
  await hasDrivers(other);
  await member.server.waitFor(NODE, (one) => annotation(one) === '{"e.test":"e"}');
});

test('the CSINode of an earlier Node object is replaced, after a retry when the server fails', async () => {
  await hasDrivers();
  await member.stop();
  member.server.delete(NODE);
  const fault = member.server.inject({
    when: ({ verb, plural }) => verb === 'delete' && plural === 'csinodes',
    fault: { kind: 'answer', code: 500 },
    times: 1,
  });
  const { uid: old } = member.server.get(CSI_NODE)?.metadata ?? {};
  await member.start();
  await member.server.waitFor(NODE, isReady);
  await member.pass(15_000);
  expect(fault.hits).toBe(1);
  const { uid } = member.server.get(NODE)?.metadata ?? {};
  const made = await member.server.waitFor(CSI_NODE, ({ metadata }) => metadata.uid !== old);
  expect(made.metadata['ownerReferences']).toMatchObject([{ uid }]);
});

test('a driver whose topology contradicts the Node’s labels is left out', async () => {
  member.server.patch(NODE, { metadata: { labels: { 'zone.test/a': 'two' } } });
  await member.untilNode((node) => node?.labels['zone.test/a'] === 'two');
  member.plugins.put('d.test', plugin);
  member.plugins.put('e.test', { driver: 'e.test', nodeId: 'e', topology: {} });
  await hasDrivers({ name: 'e.test', nodeID: 'e', topologyKeys: [] });
  const node = await member.server.waitFor(NODE, (one) => annotation(one) !== undefined);
  expect(node.metadata).toMatchObject({
    annotations: { [NODE_IDS]: '{"e.test":"e"}' },
    labels: { 'zone.test/a': 'two' },
  });
});

test('volumes in use are written at once, and published as the API server has them', async () => {
  const inUse = (...volumes: string[]) => member.inUse.put(NAME, { volumes });
  inUse('kubernetes.io/csi/d.test^h');
  expect(await member.untilNode((node) => node?.volumesInUse.length === 1)).toMatchObject({
    volumesInUse: ['kubernetes.io/csi/d.test^h'],
    volumesAttached: [],
  });
  const volumesAttached = [{ name: 'kubernetes.io/csi/d.test^h', devicePath: '' }];
  member.server.patch(NODE, { status: { volumesAttached } }, { subresource: 'status' });
  await member.untilNode((node) => node?.volumesAttached[0] === 'kubernetes.io/csi/d.test^h');
  inUse();
  await member.untilNode((node) => node?.volumesInUse.length === 0);
  expect(member.server.get(NODE)?.status).toMatchObject({ volumesAttached });
});
