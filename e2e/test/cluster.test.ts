import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { TestCluster, type TestNode, startNode } from '@kubus/harness';
import type { KubeObject } from '@kubus/kube-fixture';
import { pod } from '../src/pods.ts';

let cluster: TestCluster;
let node: TestNode;

beforeAll(async () => {
  cluster = await TestCluster.open();
  node = await startNode({ kubeconfig: (name) => cluster.nodeKubeconfig(name) });
});
afterAll(async () => {
  await node.stop();
  await cluster.api.delete({ kind: 'Node', name: node.name });
  await cluster.close();
});

function named(name: string) {
  return { kind: 'Pod', namespace: 'default', name: `${name}-${node.name}` };
}

/** Asks for a pod on the node. */
async function create(name: string): Promise<KubeObject> {
  const { spec } = pod(name) as { spec?: object };
  const metadata = { namespace: 'default', name: named(name).name };
  return cluster.api.create({
    apiVersion: 'v1',
    kind: 'Pod',
    metadata,
    spec: { ...spec, nodeName: node.name },
  });
}

function has(object: KubeObject, condition: string): boolean {
  const conditions = (object.status?.['conditions'] ?? []) as { type: string; status: string }[];
  return conditions.some(({ type, status }) => type === condition && status === 'True');
}
const isReady = (object: KubeObject) => has(object, 'Ready');

test('the node registers itself, becomes ready and holds a lease', async () => {
  const { metadata, status } = await cluster.api.waitFor({ kind: 'Node', name: node.name }, isReady);
  expect(metadata.labels).toMatchObject({ 'kubernetes.io/hostname': node.name, 'kubernetes.io/os': 'linux' });
  expect(status).toMatchObject({ allocatable: { pods: '110' }, daemonEndpoints: { kubeletEndpoint: { Port: 10250 } } });
  const lease = { kind: 'Lease', namespace: 'kube-node-lease', name: node.name };
  const { spec } = await cluster.api.waitFor(lease, () => true);
  expect(spec).toMatchObject({ holderIdentity: node.name, leaseDurationSeconds: 40 });
});

test('a pod that is bound to the node runs, tells its status, and is gone when it has ended', async () => {
  const { metadata } = await create('bound');
  const running = await cluster.api.waitFor(named('bound'), isReady);
  expect(running.metadata.uid).toBe(metadata.uid);
  expect(running.status).toMatchObject({
    phase: 'Running',
    qosClass: 'BestEffort',
    podIP: expect.stringMatching(/^10\./),
    observedGeneration: 1,
    containerStatuses: [{ ready: true, restartCount: 0 }],
  });
  const query = { fieldSelector: `involvedObject.uid=${metadata.uid}` };
  const { body } = await cluster.api.raw('GET', '/api/v1/namespaces/default/events', { query });
  const reasons = (body['items'] as { reason: string }[]).map(({ reason }) => reason);
  expect(reasons).toEqual(expect.arrayContaining(['Created', 'Started']));
  await cluster.api.delete(named('bound'), { gracePeriodSeconds: 1 });
  await cluster.api.waitGone(named('bound'));
  await node.watch.until(`no pod ${metadata.uid}`, () =>
    node.watch.pod(metadata.uid) === undefined ? true : undefined,
  );
});

test('a static pod is mirrored, and its mirror comes back', async () => {
  await node.writeManifest('static.json', pod('static'));
  const { metadata } = await cluster.api.waitFor(named('static'), isReady);
  expect(metadata.annotations).toMatchObject({ 'kubernetes.io/config.source': 'file' });
  expect(metadata['ownerReferences']).toMatchObject([{ kind: 'Node', name: node.name, controller: true }]);
  await cluster.api.delete(named('static'), { gracePeriodSeconds: 0 });
  const again = await cluster.api.waitFor(
    named('static'),
    (mirror) => mirror.metadata.uid !== metadata.uid && isReady(mirror),
  );
  expect(again.status).toMatchObject({ containerStatuses: [{ restartCount: 0 }] });
  await node.removeManifest('static.json');
  await cluster.api.waitGone(named('static'));
});

test('an outage of the API server ends nothing, and what happened meanwhile is told after it', async () => {
  const { server } = cluster;
  // A real cluster is not ours to stop.
  if (server === undefined) return;
  const { metadata } = await create('outage');
  await cluster.api.waitFor(named('outage'), isReady);
  await server.pause();
  await node.restart('status-manager-0');
  await node.kubus('exec', named('outage').name, '--', 'sh', '-c', 'kill -TERM 1');
  await node.watch.until('the container runs again', () => {
    const [status] = node.watch.pod(metadata.uid)?.status?.containerStatuses ?? [];
    return status?.restartCount === 1 && status.ready ? true : undefined;
  });
  await server.resume();
  const told = await cluster.api.waitFor(named('outage'), ({ status }) => {
    const [container] = (status?.['containerStatuses'] ?? []) as { restartCount: number; ready: boolean }[];
    return container?.restartCount === 1 && container.ready;
  });
  expect(told.metadata.uid).toBe(metadata.uid);
  await cluster.api.delete(named('outage'), { gracePeriodSeconds: 1 });
  await cluster.api.waitGone(named('outage'));
});
