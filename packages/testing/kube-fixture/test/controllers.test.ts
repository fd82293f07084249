import { once } from 'node:events';
import { type Server, createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { TLSSocket } from 'node:tls';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { Cluster, type JsonObject, TestApiServer, nodeCertificate, nodeUser, pathOf } from '../src/index.ts';

let server: TestApiServer;
/** The HTTPS server of a node. */
let kubelet: Server;
let port: number;
/** The received requests and their users. */
let asked: string[];

beforeEach(async () => {
  asked = [];
  server = await TestApiServer.start({
    schedule: true,
    approve: () => true,
    authorize: ({ user, resource, subresource }) =>
      user.username === 'stranger' && `${resource}/${subresource}` === 'nodes/proxy' ? '' : undefined,
    bookmarkMs: 10,
    kubelet: () => Promise.resolve({ host: '127.0.0.1', port }),
  });
  const { certificate: cert, key } = await server.authority.issue({ commonName: 'n' }, 'server');
  const ca = server.authority.certificate;
  kubelet = createServer({ cert, key, ca, requestCert: true, rejectUnauthorized: true }, (request, response) => {
    const { socket } = request;
    if (!(socket instanceof TLSSocket)) return;
    const { CN, O } = socket.getPeerCertificate().subject;
    asked.push(`${String(CN)} of ${String(O)}: ${request.url ?? ''}`);
    const [, code = '200'] = /sinceSeconds=(\d+)/.exec(request.url ?? '') ?? [];
    response.writeHead(Number(code)).end(code === '200' ? 'a line\n' : 'the reason of the node');
  });
  kubelet.listen(0, '127.0.0.1');
  await once(kubelet, 'listening');
  ({ port } = kubelet.address() as AddressInfo);
});
afterEach(async () => {
  await server.close();
  kubelet.close();
  kubelet.closeAllConnections();
});

test('a deleted namespace keeps its content for a while, for who deletes both', async () => {
  const slow = await TestApiServer.start({ namespaceGraceMs: 3_600_000 });
  try {
    const cluster = Cluster.open(await slow.kubeconfig());
    await cluster.create({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'shop' } });
    const name = { kind: 'ConfigMap', namespace: 'shop', name: 'a' };
    await cluster.create({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { namespace: 'shop', name: 'a' } });
    await cluster.delete({ kind: 'Namespace', name: 'shop' });
    expect((await cluster.raw('DELETE', pathOf(name))).code).toBe(200);
    expect(await cluster.get({ kind: 'Namespace', name: 'shop' })).toMatchObject({ status: { phase: 'Terminating' } });
  } finally {
    await slow.close();
  }
});

const pod = (name: string, containers: readonly string[] = ['c']): JsonObject => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name },
  spec: { containers: containers.map((one) => ({ name: one, image: 'busybox' })) },
});
const node = (name: string, ready: boolean, spec: JsonObject = {}): JsonObject => ({
  apiVersion: 'v1',
  kind: 'Node',
  metadata: { name },
  spec,
  status: { conditions: [{ type: 'Ready', status: ready ? 'True' : 'False' }] },
});

test('pods without a node are bound to the first ready, schedulable node', async () => {
  server.create(node('a', false));
  server.create(node('b', true, { unschedulable: true }));
  server.create(pod('early'));
  server.create(node('c', true));
  const bound = await server.waitFor({ kind: 'Pod', name: 'early' }, ({ spec }) => spec?.['nodeName'] !== undefined);
  expect(bound).toMatchObject({
    spec: { nodeName: 'c' },
    status: { conditions: [{ type: 'PodScheduled', status: 'True' }] },
  });
  expect(server.get({ kind: 'Node', name: 'c' })?.spec).toEqual({});
  server.create(pod('late'));
  await server.waitFor({ kind: 'Pod', name: 'late' }, ({ spec }) => spec?.['nodeName'] === 'c');
});

describe('the log of a pod', () => {
  const log = (name: string, query: Record<string, string> = {}) =>
    server
      .kubeconfig()
      .then((path) => Cluster.open(path).raw('GET', `/api/v1/namespaces/default/pods/${name}/log`, { query }));

  test('is requested from its node by the API server', async () => {
    server.create(node('c', true));
    server.create(pod('one'));
    server.create(pod('two', ['x', 'y']));
    for (const name of ['one', 'two']) {
      await server.waitFor({ kind: 'Pod', name }, ({ spec }) => spec?.['nodeName'] !== undefined);
    }
    expect(await log('one', { tailLines: '3' })).toMatchObject({ code: 200, body: { text: 'a line\n' } });
    expect(await log('two')).toMatchObject({ code: 400, body: { reason: 'BadRequest' } });
    expect((await log('two', { container: 'y', follow: 'true' })).code).toBe(200);
    const who = 'kube-apiserver-kubelet-client of system:masters: /containerLogs/default';
    expect(asked).toEqual([`${who}/one/c?tailLines=3`, `${who}/two/y?follow=true`]);
  });

  test('is refused in the words of its node', async () => {
    server.create(node('c', true));
    server.create(pod('one'));
    await server.waitFor({ kind: 'Pod', name: 'one' }, ({ spec }) => spec?.['nodeName'] !== undefined);
    const refused = async (code: number) => (await log('one', { sinceSeconds: String(code) })).body;
    expect(await refused(400)).toMatchObject({ code: 400, reason: 'BadRequest', message: 'the reason of the node' });
    expect(await refused(404)).toMatchObject({
      ...{ code: 404, reason: 'NotFound', message: 'the server could not find the requested resource ( pods/log one)' },
      details: { name: 'one', kind: 'pods/log' },
    });
    const why = 'Internal error occurred: the reason of the node';
    expect(await refused(500)).toMatchObject({ code: 500, reason: 'InternalError', message: why });
  });

  test('is unavailable if its node does not answer', async () => {
    server.create(node('c', true));
    server.create(pod('one'));
    await server.waitFor({ kind: 'Pod', name: 'one' }, ({ spec }) => spec?.['nodeName'] !== undefined);
    kubelet.close();
    await once(kubelet, 'close');
    const { code, body } = await log('one');
    expect({ code, message: body['message'] }).toMatchObject({
      code: 500,
      message: expect.stringContaining('ECONNREFUSED'),
    });
  });
});

test('authorized users reach the API of a node through the API server', async () => {
  server.create(node('c', true));
  const cluster = Cluster.open(await server.kubeconfig());
  const served = (name: string, method = 'GET') =>
    cluster.raw(method, `/api/v1/nodes/${name}/proxy/stats/summary`, { query: { only_cpu_and_memory: 'true' } });
  expect(await served('c')).toMatchObject({ code: 200, body: { text: 'a line\n' } });
  expect(asked).toEqual(['kube-apiserver-kubelet-client of system:masters: /stats/summary?only_cpu_and_memory=true']);
  for (const name of [`c:${port}`, `https:c:${port}`, 'c:', ':c:']) expect((await served(name)).code).toBe(200);
  for (const name of ['c:1', 'a:b:c', 'a:b:c:d', `:${port}`]) {
    const message = `invalid node request "${name}"`;
    expect(await served(name)).toMatchObject({ code: 400, body: { reason: 'BadRequest', message } });
  }
  expect((await served('none')).code).toBe(404);
  expect((await served('c', 'POST')).code).toBe(405);
  const stranger = Cluster.open(await server.kubeconfig({ username: 'stranger', groups: [] }));
  expect((await stranger.raw('GET', '/api/v1/nodes/c/proxy/stats/summary')).code).toBe(403);
});

test('a certificate request approved by a test authenticates its user', async () => {
  const cluster = Cluster.open(await server.kubeconfig());
  const clientCertificate = await nodeCertificate(cluster, nodeUser('n'));
  const { body } = await Cluster.fromText(await cluster.kubeconfigText({ clientCertificate })).raw(
    'POST',
    '/apis/authentication.k8s.io/v1/selfsubjectreviews',
    { body: { apiVersion: 'authentication.k8s.io/v1', kind: 'SelfSubjectReview' } },
  );
  expect(body['status']).toEqual({
    userInfo: { username: 'system:node:n', groups: ['system:nodes', 'system:authenticated'] },
  });
});

test('bookmarks are sent periodically', async () => {
  const watch = await Cluster.open(await server.kubeconfig()).watch('/api/v1/nodes', { allowWatchBookmarks: 'true' });
  expect(await watch.next()).toMatchObject({ type: 'BOOKMARK', object: { kind: 'Node' } });
  watch.close();
});
