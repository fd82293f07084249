import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { TestApiServer, nodeUser } from '@kubus/kube-fixture';
import { type Clock, silentLogger } from '@kubus/ports';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { type Server, createServer } from 'node:http';
import { type AddressInfo, type Socket, connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parse, stringify } from 'yaml';
import { KubeClient } from '../src/kube-client.ts';

const path = '/api/v1/namespaces/default/configmaps';
const clock: Clock = {
  now: () => Date.now(),
  after: (ms, action) => {
    const timer = setTimeout(action, ms).unref();
    return () => clearTimeout(timer);
  },
};

let dir: string;
let api: TestApiServer;
let client: KubeClient | undefined;
/** Answers CONNECT, and records its targets. */
let proxy: Server;
const tunnels: string[] = [];
const sockets = new Set<Socket>();

beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), 'kubus-proxy-'));
  api = await TestApiServer.start();
  tunnels.length = 0;
  proxy = createServer();
  proxy.on('connect', ({ url = '' }, near: Socket) => {
    tunnels.push(url);
    const far = connect(api.port, '127.0.0.1', () => {
      near.write('HTTP/1.1 200 OK\r\n\r\n');
      far.pipe(near).pipe(far);
    });
    for (const socket of [near, far]) {
      sockets.add(socket);
      socket.on('error', () => undefined);
    }
  });
  await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve));
});

afterEach(async () => {
  await client?.close();
  for (const socket of sockets) socket.destroy();
  sockets.clear();
  await new Promise((resolve) => proxy.close(resolve));
  await api.close();
  await rm(dir, { recursive: true });
});

async function openWith(cluster: Record<string, unknown>): Promise<KubeClient> {
  const text = await readFile(await api.kubeconfig(nodeUser('a'), 'certificate'), 'utf8');
  const document = parse(text) as { clusters: { name: string; cluster: Record<string, unknown> }[] };
  const clusters = document.clusters.map((one) => ({ ...one, cluster: { ...one.cluster, ...cluster } }));
  const kubeconfig = join(dir, 'kubeconfig');
  await writeFile(kubeconfig, stringify({ ...document, clusters }));
  client = await KubeClient.open({ kubeconfig, userAgent: 'kubus-test', clock, logger: silentLogger });
  return client;
}

const proxyUrl = () => `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`;

test('requests and watches go through the proxy, as their user', async () => {
  const through = await openWith({ 'proxy-url': proxyUrl() });
  await through.request({ method: 'GET', path });
  const abort = new AbortController();
  const watched = through.watch({ path, signal: abort.signal, opened: () => abort.abort(), event: () => undefined });
  await expect(watched).rejects.toMatchObject({ code: 'Unreachable' });
  expect(new Set(tunnels)).toEqual(new Set([`127.0.0.1:${api.port}`]));
  expect(api.requests.map(({ user }) => user)).toEqual(['system:node:a', 'system:node:a']);
});

test.each<readonly [string, Record<string, unknown>, boolean]>([
  ['a name in the certificate', { 'tls-server-name': 'kubernetes' }, true],
  ['another name', { 'tls-server-name': 'elsewhere' }, false],
  ['no known authority', { 'certificate-authority-data': undefined }, false],
  ['no verification', { 'certificate-authority-data': undefined, 'insecure-skip-tls-verify': true }, true],
])('the server is verified by %s: %#', async (_, cluster, known) => {
  const asked = (await openWith(cluster)).request({ method: 'GET', path });
  if (known) await asked;
  else await expect(asked).rejects.toMatchObject({ code: 'Unreachable' });
  expect(api.requests).toHaveLength(known ? 1 : 0);
});
