// What requests may cost the API server, and what it tells about itself.
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { once } from 'node:events';
import { type TLSSocket, connect } from 'node:tls';
import { Cluster, TestApiServer, nodeUser } from '../src/index.ts';

const MEGABYTE = 1024 * 1024;

let server: TestApiServer;
let admin: Cluster;
let token: string;

beforeAll(async () => {
  server = await TestApiServer.start();
  admin = Cluster.open(await server.kubeconfig());
  await admin.create({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'a' } });
  token = server.identities.token({ username: 'admin', groups: ['system:masters'] });
});
afterAll(() => server.close());

async function connected(): Promise<TLSSocket> {
  const socket = connect({ host: '127.0.0.1', port: server.port, rejectUnauthorized: false });
  socket.on('error', () => undefined);
  await once(socket, 'secureConnect');
  return socket;
}

/** The status of the answer to a head that is sent as it is. */
async function statusOf(head: readonly string[]): Promise<number> {
  const socket = await connected();
  let text = '';
  socket.on('data', (chunk: Buffer) => (text += chunk.toString('latin1')));
  const closed = once(socket, 'close');
  socket.write(Buffer.from([...head, 'Connection: close', '', ''].join('\r\n'), 'latin1'));
  await closed;
  return Number(/^HTTP\/1\.1 (\d+)/.exec(text)?.[1]);
}

/** How many of 100 pieces of a megabyte the server takes from a body before it ends the connection. */
async function taken(head: readonly string[]): Promise<number> {
  const socket = await connected();
  const closed = once(socket, 'close');
  socket.resume().write([...head, '', ''].join('\r\n'));
  const piece = Buffer.alloc(MEGABYTE, 0x20);
  let pieces = 0;
  for (; pieces < 100 && socket.writable; pieces++) {
    if (!socket.write(piece)) await Promise.race([once(socket, 'drain'), closed]);
  }
  socket.destroy();
  return pieces;
}

describe('a body', () => {
  const post = ['POST /api/v1/namespaces HTTP/1.1', 'Host: x', `Content-Length: ${100 * MEGABYTE}`];

  test('of 100 MB is not read, neither from a stranger nor from a user', async () => {
    expect(await taken(post)).toBeLessThan(50);
    expect(await taken([...post, `Authorization: Bearer ${token}`])).toBeLessThan(50);
  });

  test('above 3 MB is refused with words', async () => {
    const data = { filling: 'x'.repeat(3 * MEGABYTE) };
    const body = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'large' }, data };
    const answer = await admin.raw('POST', '/api/v1/namespaces/a/configmaps', { body });
    expect(answer).toMatchObject({ code: 413, body: { message: 'Request entity too large: limit is 3145728' } });
  });

  test.each([
    ['nested 100,000 deep', '['.repeat(100_000) + ']'.repeat(100_000)],
    ['no JSON', '{"metadata":'],
    ['a number', '7'],
    ['null', 'null'],
    ['a list', '[]'],
    ['metadata that is a list', '{"metadata":[]}'],
    ['metadata of the prototype', '{"__proto__":{"metadata":{"name":"x"}}}'],
    ['a name that is an object', '{"metadata":{"name":{"a":1}}}'],
    ['a name with a path', '{"metadata":{"name":"../../secrets/x"}}'],
    ['labels that are a text', '{"metadata":{"name":"labels","labels":"x"}}'],
  ])('that is %s is refused as the fault of its sender', async (_, text) => {
    const head = ['POST /api/v1/namespaces/a/configmaps HTTP/1.1', 'Host: x', `Authorization: Bearer ${token}`];
    const socket = await connected();
    const answer = once(socket, 'data');
    socket.write([...head, 'Content-Type: application/json', `Content-Length: ${text.length}`, '', text].join('\r\n'));
    expect(String(await answer)).toMatch(/^HTTP\/1\.1 4\d\d/);
    socket.destroy();
  });
});

test.each([
  ['*', 400],
  ['//', 404],
  ['/api/v1/%', 400],
  ['/api/v1/%2e%2e/%2e%2e/etc/passwd', 404],
  ['/api/v1/namespaces/a/pods/..%2f..%2fsecrets', 404],
  ['/api/v1/namespaces/a/pods/constructor/__proto__', 404],
  ['/apis/__proto__/v1/pods', 404],
  ['/apis/constructor', 404],
  ['/api/v1/pods?limit=-1', 200],
  ['/api/v1/pods?limit=1e999', 200],
  ['/api/v1/pods?continue=////', 400],
  ['/api/v1/pods?labelSelector=((((', 400],
  ['/api/v1/pods?fieldSelector=__proto__=x', 400],
  ['/api/v1/pods?resourceVersion=-1', 400],
  ['/api/v1/pods?resourceVersion=99999999999999999999', 504],
])('the path %s is answered with %d', async (path, status) => {
  expect(await statusOf([`GET ${path} HTTP/1.1`, 'Host: x', `Authorization: Bearer ${token}`])).toBe(status);
});

test('a query of 10 KB is answered', async () => {
  const path = `/api/v1/pods?${'a=b&'.repeat(2_500)}`;
  expect(await statusOf([`GET ${path} HTTP/1.1`, 'Host: x', `Authorization: Bearer ${token}`])).toBe(200);
});

test('a user has 1,000 watches and no more, and others still have theirs', async () => {
  const path = '/api/v1/namespaces/a/configmaps?watch=true';
  const sockets: TLSSocket[] = [];
  const watch = async (): Promise<string> => {
    const socket = await connected();
    sockets.push(socket);
    const answer = once(socket, 'data');
    socket.write([`GET ${path} HTTP/1.1`, 'Host: x', `Authorization: Bearer ${token}`, '', ''].join('\r\n'));
    return String(await answer).slice(0, 12);
  };
  const answers: string[] = [];
  for (let group = 0; group < 20; group++) answers.push(...(await Promise.all(Array.from({ length: 50 }, watch))));
  expect(new Set(answers)).toEqual(new Set(['HTTP/1.1 200']));
  expect(await watch()).toBe('HTTP/1.1 429');
  const own = await admin.watch('/api/v1/namespaces/a/configmaps');
  own.close();
  for (const socket of sockets) socket.destroy();
});

test('a watch whose client does not read is cut', async () => {
  const socket = await connected();
  socket.pause();
  const closed = once(socket, 'close');
  const head = ['GET /api/v1/namespaces/a/configmaps?watch=true HTTP/1.1', 'Host: x', `Authorization: Bearer ${token}`];
  socket.write([...head, '', ''].join('\r\n'));
  await server.waitForRequest(({ verb, user }) => verb === 'watch' && user === 'admin');
  const watches = () => server.watches.filter(({ user }) => user === 'admin').length;
  const name = { kind: 'ConfigMap', namespace: 'a', name: 'growing' };
  await admin.create({ apiVersion: 'v1', kind: 'ConfigMap', metadata: name, data: {} });
  let writes = 0;
  for (; writes < 100 && watches() > 0; writes++) {
    await admin.patch(name, { data: { filling: `${writes}${'x'.repeat(MEGABYTE)}` } });
  }
  expect(writes).toBeLessThan(100);
  socket.resume();
  await closed;
});

describe('what it tells about itself', () => {
  test.each([
    ['/readyz', 'ok'],
    ['/livez/ping', 'ok'],
    ['/readyz?verbose', '[+]ping ok\n[+]etcd ok\nreadyz check passed\n'],
    ['/livez?verbose&exclude=etcd', '[+]ping ok\nlivez check passed\n'],
  ])('%s is %j, for anybody', async (path, text) => {
    expect((await admin.raw('GET', path, { headers: { authorization: '' } })).body).toEqual({ text });
  });

  test('/metrics counts requests by kind and code, for administrators', async () => {
    await admin.raw('GET', '/api/v1/namespaces/a/pods/none');
    const { text } = (await admin.raw('GET', '/metrics')).body;
    expect(text).toMatch(
      /^apiserver_request_total\{verb="GET",group="",version="v1",scope="resource",resource="pods",subresource="",code="404"\} \d/m,
    );
    expect(text).toMatch(/^apiserver_request_duration_seconds_bucket\{verb="GET",.*,le="10"\} \d/m);
    expect(text).toMatch(/^apiserver_resource_objects\{group="",resource="configmaps"\} 1$/m);
    const node = await admin.kubeconfigText({ token: server.identities.token(nodeUser('n')) });
    expect(await Cluster.fromText(node).raw('GET', '/metrics')).toMatchObject({
      code: 403,
      body: { message: 'forbidden: User "system:node:n" cannot get path "/metrics"' },
    });
  });
});
