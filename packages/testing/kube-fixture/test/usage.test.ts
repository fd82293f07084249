// What nodes and pods use, as `kubectl top` asks for it, of a node that answers with metrics.
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { once } from 'node:events';
import { type Server, createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { asList, at } from '@kubus/kube-objects';
import { Authority } from '@kubus/certificates';
import { Cluster, TestApiServer, nodeUser } from '../src/index.ts';

const PODS = '/apis/metrics.k8s.io/v1beta1/pods';
const NODES = '/apis/metrics.k8s.io/v1beta1/nodes';
const inDefault = (name: string) => `/apis/metrics.k8s.io/v1beta1/namespaces/default/pods/${name}`;

let kubelet: Server;
let server: TestApiServer;
let admin: Cluster;
/** Requests that the node has answered. */
const asked: string[] = [];

/** A node that has used a quarter of a CPU, and a pod that has used a tenth, since the start of the test. */
function metrics(): string {
  const now = Date.now();
  const seconds = (now - began) / 1000;
  const labels = '{container="c",namespace="default",pod="web"}';
  return `node_cpu_usage_seconds_total ${seconds / 4} ${now}
node_memory_working_set_bytes 1048576 ${now}
container_cpu_usage_seconds_total${labels} ${seconds / 10} ${now}
container_memory_working_set_bytes${labels} 389120 ${now}
container_start_time_seconds${labels} ${began / 1000 - 100}
`;
}
const began = Date.now();

beforeAll(async () => {
  const authority = await Authority.create();
  const serving = await authority.issue({ commonName: 'node', addresses: ['127.0.0.1'] }, 'server', 60_000);
  kubelet = createServer({ cert: serving.certificate, key: serving.key }, ({ url = '' }, response) => {
    asked.push(url);
    response.end(metrics());
  });
  await once(kubelet.listen(0, '127.0.0.1'), 'listening');
  const { port } = kubelet.address() as AddressInfo;
  server = await TestApiServer.start({
    nodeAuthorization: true,
    kubelet: async () => Promise.resolve({ host: '127.0.0.1', port }),
  });
  admin = Cluster.open(await server.kubeconfig());
  server.create({ apiVersion: 'v1', kind: 'Node', metadata: { name: 'node0' } });
  for (const name of ['web', 'young']) {
    const spec = { nodeName: 'node0', containers: [{ name: 'c', image: 'i' }] };
    server.create({ apiVersion: 'v1', kind: 'Pod', metadata: { name, labels: { app: name } }, spec });
    const status = { status: { phase: 'Running' } };
    await admin.patch({ kind: 'Pod', namespace: 'default', name }, status, { subresource: 'status' });
  }
});
afterAll(async () => {
  kubelet.close();
  await server.close();
});

const tenth = { cpu: expect.stringMatching(/^(?:9\d|10\d)\d*[mun]$/), memory: '380Ki' };

test('a list has the pods that the node has figures of, and a get one of them', async () => {
  const { body } = await admin.raw('GET', PODS);
  expect(body).toMatchObject({ kind: 'PodMetricsList', apiVersion: 'metrics.k8s.io/v1beta1' });
  const item = { metadata: { name: 'web', labels: { app: 'web' } }, containers: [{ name: 'c', usage: tenth }] };
  expect(asList(body['items'])).toMatchObject([item]);
  expect((await admin.raw('GET', inDefault('web'))).body).toMatchObject({ kind: 'PodMetrics', ...item });
  expect(await admin.raw('GET', inDefault('young'))).toMatchObject({
    code: 404,
    body: { message: 'podmetrics.metrics.k8s.io "default/young" not found' },
  });
});

test('a node has figures, and requests that come together share those of one reading', async () => {
  const before = asked.length;
  const [{ body }] = await Promise.all([admin.raw('GET', NODES), admin.raw('GET', NODES), admin.raw('GET', PODS)]);
  expect(asList(body['items'])).toMatchObject([
    { metadata: { name: 'node0' }, usage: { cpu: expect.stringMatching(/^2[45]\d+[mun]$/), memory: '1Mi' } },
  ]);
  expect(asked.length - before).toBeLessThanOrEqual(1);
  expect((await admin.raw('GET', `${NODES}/node0`)).body).toMatchObject({ kind: 'NodeMetrics' });
  expect(new Set(asked)).toEqual(new Set(['/metrics/resource']));
});

test('selectors select, and tables have the columns of metrics-server', async () => {
  const listed = async (query: Record<string, string>) =>
    asList((await admin.raw('GET', PODS, { query })).body['items']).length;
  expect(await listed({ labelSelector: 'app=web' })).toBe(1);
  expect(await listed({ labelSelector: 'app=young' })).toBe(0);
  expect(await listed({ fieldSelector: 'metadata.name=young' })).toBe(0);
  const accept = 'application/json;as=Table;v=v1;g=meta.k8s.io,application/json';
  const { body } = await admin.raw('GET', PODS, { headers: { accept } });
  expect(asList(body['columnDefinitions']).map((column) => at(column, 'name'))).toEqual([
    'Name',
    'cpu',
    'memory',
    'Window',
  ]);
  expect(asList(body['rows'])).toMatchObject([{ cells: ['web', tenth.cpu, '380Ki', expect.stringMatching(/s$/)] }]);
});

test('discovery has the kinds with their verbs, which are all there are', async () => {
  const { body } = await admin.raw('GET', '/apis/metrics.k8s.io/v1beta1');
  expect(asList(body['resources'])).toEqual([
    { name: 'nodes', singularName: '', namespaced: false, kind: 'NodeMetrics', verbs: ['get', 'list'] },
    { name: 'pods', singularName: '', namespaced: true, kind: 'PodMetrics', verbs: ['get', 'list'] },
  ]);
  for (const [method, path] of [
    ['POST', PODS],
    ['DELETE', inDefault('web')],
    ['GET', `${PODS}?watch=true`],
  ] as const) {
    expect((await admin.raw(method, path)).code).toBe(405);
  }
});

test('only who may read them does', async () => {
  const user = await server.kubeconfig(nodeUser('node0'), 'certificate');
  expect((await Cluster.open(user).raw('GET', PODS)).code).toBe(403);
});

test('a node that does not answer has no figures', async () => {
  server.create({ apiVersion: 'v1', kind: 'Node', metadata: { name: 'node1' } });
  kubelet.close();
  kubelet.closeAllConnections();
  const { code, body } = await admin.raw('GET', `${NODES}/node1`);
  expect([code, body['message']]).toEqual([404, 'nodemetrics.metrics.k8s.io "node1" not found']);
});
