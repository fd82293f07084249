import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import type { JsonObject, KubeObject } from '../src/index.ts';
import { JudgedCluster, refused } from './judged-cluster.ts';

let judged: JudgedCluster;
let node: KubeObject;
beforeAll(async () => {
  judged = await JudgedCluster.open();
  node = await judged.cluster.create({
    apiVersion: 'v1',
    kind: 'Node',
    metadata: { name: judged.node, labels: { a: 'b' } },
    spec: { providerID: 'test://1', taints: [{ key: 'own', effect: 'NoExecute' }] },
    status: { capacity: { cpu: '2' }, conditions: [{ type: 'Ready', status: 'False', reason: 'Starting' }] },
  });
});
afterAll(() => judged.close());

const name = () => ({ kind: 'Node', name: judged.node });
const status = (patch: JsonObject) =>
  judged.cluster.patch(name(), patch, { kind: 'strategic-merge', subresource: 'status' });
const taintsOf = ({ spec }: KubeObject) =>
  (spec?.['taints'] as { key: string }[] | undefined)?.map(({ key }) => key) ?? [];

describe('a node', () => {
  test('is registered with its status, and is tainted until it is ready', () => {
    expect(node.status).toMatchObject({
      capacity: { cpu: '2' },
      conditions: [{ type: 'Ready', status: 'False', reason: 'Starting' }],
      daemonEndpoints: { kubeletEndpoint: { Port: 0 } },
      nodeInfo: { kubeletVersion: '', machineID: '' },
    });
    expect(taintsOf(node)).toEqual(['own', 'node.kubernetes.io/not-ready']);
    expect(node.metadata.generation).toBeUndefined();
  });

  test('is registered once', async () => {
    const answer = await judged.cluster.raw('POST', '/api/v1/nodes', {
      body: { apiVersion: 'v1', kind: 'Node', metadata: { name: judged.node } },
    });
    expect(answer).toMatchObject(refused(409, 'AlreadyExists', /^nodes "judged-.*" already exists$/));
  });

  test('has its status patched by the types of conditions and addresses', async () => {
    await status({
      status: {
        addresses: [{ type: 'InternalIP', address: '10.0.0.1' }],
        conditions: [{ type: 'MemoryPressure', status: 'False' }],
        images: [{ names: ['a'], sizeBytes: 1 }],
      },
    });
    const { status: now } = await status({
      status: {
        '$setElementOrder/addresses': [{ type: 'InternalIP' }, { type: 'Hostname' }],
        addresses: [
          { type: 'InternalIP', address: '10.0.0.2' },
          { type: 'Hostname', address: 'n' },
        ],
        conditions: [{ type: 'MemoryPressure', status: 'True', reason: 'Full' }],
        images: [{ names: ['b'], sizeBytes: 2 }],
        daemonEndpoints: { kubeletEndpoint: { Port: 10250 } },
        nodeInfo: { kubeletVersion: 'v1' },
      },
    });
    expect(now).toMatchObject({
      addresses: [
        { type: 'InternalIP', address: '10.0.0.2' },
        { type: 'Hostname', address: 'n' },
      ],
      images: [{ names: ['b'] }],
      daemonEndpoints: { kubeletEndpoint: { Port: 10250 } },
      nodeInfo: { kubeletVersion: 'v1', machineID: '' },
    });
    const conditions = now?.['conditions'] as { type: string; status: string }[];
    expect(conditions).toMatchObject([
      { type: 'MemoryPressure', status: 'True', reason: 'Full' },
      { type: 'Ready', status: 'False' },
    ]);
  });

  test('keeps its spec when its status is updated, and its status when its spec is updated', async () => {
    const changed = await status({
      metadata: { labels: { c: 'd' }, annotations: { e: 'f' } },
      spec: { unschedulable: true },
      status: { phase: 'Running' },
    });
    expect(changed.metadata).toMatchObject({ labels: { a: 'b', c: 'd' }, annotations: { e: 'f' } });
    expect(changed.spec).not.toHaveProperty('unschedulable');
    const patch = { metadata: { labels: { c: null } }, spec: { unschedulable: true }, status: { phase: 'Terminated' } };
    const cordoned = await judged.cluster.patch(name(), patch, { kind: 'strategic-merge' });
    expect(cordoned.metadata.labels).toEqual({ a: 'b' });
    expect(cordoned).toMatchObject({ spec: { unschedulable: true }, status: { phase: 'Running' } });
  });

  test('without the field that would make it so is selected as not unschedulable', async () => {
    const name = `${judged.node}-free`;
    await judged.cluster.create({ apiVersion: 'v1', kind: 'Node', metadata: { name } });
    const selected = async (unschedulable: string) => {
      const fieldSelector = `spec.unschedulable=${unschedulable},metadata.name=${name}`;
      return (await judged.cluster.raw('GET', '/api/v1/nodes', { query: { fieldSelector } })).body['items'];
    };
    expect(await selected('false')).toHaveLength(1);
    expect(await selected('true')).toHaveLength(0);
    expect(await selected('')).toHaveLength(0);
    await judged.cluster.delete({ kind: 'Node', name });
  });

  test('can have podCIDRs set only once', async () => {
    const give = (podCIDR: string) =>
      judged.patch(`/api/v1/nodes/${judged.node}`, 'merge', { spec: { podCIDR, podCIDRs: [podCIDR] } });
    expect((await give('10.1.0.0/24')).code).toBe(200);
    const message = /spec.podCIDRs: Forbidden: node updates may not change podCIDR except from "" to valid/;
    expect(await give('10.2.0.0/24')).toMatchObject(refused(422, 'Invalid', message));
  });

  test('cannot change its provider ID', async () => {
    const body = { spec: { providerID: 'test://2' } };
    const answer = await judged.patch(`/api/v1/nodes/${judged.node}`, 'merge', body);
    const message = /spec.providerID: Forbidden: node updates may not change providerID except from "" to valid/;
    expect(answer).toMatchObject(refused(422, 'Invalid', message));
  });

  test('is deleted at once', async () => {
    const { metadata } = await judged.cluster.create({
      apiVersion: 'v1',
      kind: 'Node',
      metadata: { name: `${judged.node}-x` },
    });
    const { body } = await judged.cluster.raw('DELETE', `/api/v1/nodes/${judged.node}-x`);
    expect(body).toMatchObject({ kind: 'Status', status: 'Success', details: { kind: 'nodes', uid: metadata.uid } });
  });
});

describe('a lease', () => {
  const leases = '/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases';
  const lease = (spec: JsonObject) => ({
    apiVersion: 'coordination.k8s.io/v1',
    kind: 'Lease',
    metadata: { name: judged.node, namespace: 'kube-node-lease' },
    spec: { holderIdentity: judged.node, leaseDurationSeconds: 40, ...spec },
  });
  test('is created and renewed', async () => {
    const made = await judged.cluster.create(lease({ renewTime: '2030-01-01T00:00:00.000000Z' }));
    const renewed = await judged.cluster.update({
      ...made,
      spec: { ...made.spec, renewTime: '2030-01-01T00:00:10.000000Z' },
    });
    expect(renewed.spec).toMatchObject({ renewTime: '2030-01-01T00:00:10.000000Z', leaseDurationSeconds: 40 });
    const stale = await judged.cluster.raw('PUT', `${leases}/${judged.node}`, { body: made });
    expect(stale).toMatchObject(
      refused(409, 'Conflict', /^Operation cannot be fulfilled on leases.coordination.k8s.io/),
    );
    await judged.cluster.delete({ kind: 'Lease', namespace: 'kube-node-lease', name: judged.node });
  });
});

test('an event is created, and its count is raised by a patch', async () => {
  const event = await judged.cluster.create({
    apiVersion: 'v1',
    kind: 'Event',
    metadata: { name: 'e.1', namespace: judged.namespace },
    involvedObject: { kind: 'Pod', namespace: judged.namespace, name: 'p', uid: 'u' },
    reason: 'Started',
    message: 'm',
    type: 'Normal',
    count: 1,
    firstTimestamp: '2030-01-01T00:00:00Z',
    lastTimestamp: '2030-01-01T00:00:00Z',
    source: { component: 'kubelet', host: 'n' },
  });
  expect(event).toMatchObject({ eventTime: null, reportingComponent: '', reportingInstance: '' });
  const name = { kind: 'Event', namespace: judged.namespace, name: 'e.1' };
  const again = await judged.cluster.patch(
    name,
    { count: 2, lastTimestamp: '2030-01-01T00:00:05Z' },
    { kind: 'strategic-merge' },
  );
  expect(again).toMatchObject({
    count: 2,
    lastTimestamp: '2030-01-01T00:00:05Z',
    firstTimestamp: '2030-01-01T00:00:00Z',
  });
  const query = { fieldSelector: 'involvedObject.uid=u,involvedObject.kind=Pod,reason=Started' };
  const { body } = await judged.cluster.raw('GET', judged.path('events'), { query });
  expect(body['items']).toHaveLength(1);
  await judged.cluster.delete(name);
  const gone = await judged.patch(judged.path('events/e.1'), 'strategic-merge', { count: 3 });
  expect(gone).toMatchObject(refused(404, 'NotFound', /^events "e.1" not found$/));
});
