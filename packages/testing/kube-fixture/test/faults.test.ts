import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { Cluster, type JsonObject, TestApiServer, nodeUser } from '../src/index.ts';

let server: TestApiServer;
let cluster: Cluster;
beforeEach(async () => {
  server = await TestApiServer.start();
  cluster = Cluster.open(await server.kubeconfig(nodeUser('n'), 'certificate'));
});
afterEach(() => server.close());

const secret = (name: string): JsonObject => ({ apiVersion: 'v1', kind: 'Secret', metadata: { name } });
const path = '/api/v1/namespaces/default/secrets';

test('an injected error has the form of the API and repeats as requested', async () => {
  const when = ({ plural, verb }: { plural: string; verb: string }) => plural === 'secrets' && verb === 'list';
  const fault = server.inject({ when, fault: { kind: 'answer', code: 429, retryAfterSeconds: 3 }, times: 1 });
  const refused = await cluster.raw('GET', path);
  expect(refused).toMatchObject({ code: 429, headers: { 'retry-after': '3' }, body: { reason: 'TooManyRequests' } });
  expect((await cluster.raw('GET', path)).code).toBe(200);
  expect(fault.hits).toBe(1);
  server.inject({ when: () => true, fault: { kind: 'answer', code: 503 } }).remove();
  server.inject({ when: () => true, fault: { kind: 'answer', code: 500 } });
  expect((await cluster.raw('GET', path)).code).toBe(500);
  server.heal();
  expect((await cluster.raw('GET', path)).code).toBe(200);
});

test.each([
  ['request', undefined],
  ['effect', 'lost'],
] as const)('a connection breaks after the %s', async (after, name) => {
  server.inject({ when: ({ verb }) => verb === 'create', fault: { kind: 'reset', after }, times: 1 });
  await expect(cluster.create(secret('lost'))).rejects.toThrow();
  expect(server.get({ kind: 'Secret', name: 'lost' })?.metadata.name).toBe(name);
});

test('a delay lasts until the test ends it', async () => {
  const { promise: until, resolve } = Promise.withResolvers<undefined>();
  server.inject({ when: ({ verb }) => verb === 'create', fault: { kind: 'delay', until }, times: 1 });
  const created = cluster.create(secret('late'));
  await server.waitForRequest(({ verb }) => verb === 'create');
  expect(server.get({ kind: 'Secret', name: 'late' })).toBeUndefined();
  resolve(undefined);
  expect((await created).metadata.name).toBe('late');
});

test('a request is executed but never answered', async () => {
  server.inject({ when: ({ verb }) => verb === 'create', fault: { kind: 'silence', after: 'effect' } });
  const created = cluster.create(secret('silent')).catch(() => 'broken');
  await server.waitFor({ kind: 'Secret', name: 'silent' }, () => true);
  await server.pause();
  expect(await created).toBe('broken');
});

describe('a watch', () => {
  test('can be cut, ended and expired', async () => {
    const cut = await cluster.watch(path);
    server.watches[0]?.cut();
    expect(await cut.next()).toBeUndefined();
    const ended = await cluster.watch(path);
    server.watches[0]?.end();
    expect(await ended.next()).toBeUndefined();
    const expired = await cluster.watch(path);
    server.watches[0]?.expire();
    expect(await expired.next()).toMatchObject({ type: 'ERROR', object: { code: 410, reason: 'Expired' } });
    expect(server.watches).toEqual([]);
  });

  test('can be silent while others receive events', async () => {
    const silent = await cluster.watch(path);
    server.watches[0]?.stall();
    const other = await cluster.watch(path);
    server.create(secret('heard'));
    expect((await other.next())?.object.metadata.name).toBe('heard');
    // Only its end comes.
    server.watches[0]?.cut();
    expect(await silent.next()).toBeUndefined();
    other.close();
  });

  test('continues from a version until the history is dropped', async () => {
    const { metadata } = server.create(secret('first'));
    server.create(secret('second'));
    const { resourceVersion } = metadata;
    const watch = await cluster.watch(path, { resourceVersion, allowWatchBookmarks: 'true' });
    expect((await watch.next())?.object.metadata.name).toBe('second');
    server.bookmark();
    expect(await watch.next()).toMatchObject({ type: 'BOOKMARK', object: { kind: 'Secret' } });
    watch.close();
    server.compact();
    const late = await cluster.watch(path, { resourceVersion });
    expect(await late.next()).toMatchObject({ type: 'ERROR', object: { code: 410, reason: 'Expired' } });
    const query = { resourceVersion, resourceVersionMatch: 'Exact' };
    expect(await cluster.raw('GET', path, { query })).toMatchObject({ code: 410, body: { reason: 'Expired' } });
  });
});

test('an outage preserves the objects and the address', async () => {
  server.create(secret('kept'));
  const watch = await cluster.watch(path);
  await watch.next();
  await server.pause();
  expect(await watch.next()).toBeUndefined();
  await expect(cluster.raw('GET', path)).rejects.toThrow('ECONNREFUSED');
  await server.resume();
  expect((await cluster.get({ kind: 'Secret', name: 'kept' }))?.metadata.name).toBe('kept');
});

test('requests are identified by user, and refused if a test denies the user', async () => {
  await server.close();
  server = await TestApiServer.start({
    authorize: ({ user, resource }) => (user.username === 'system:node:n' && resource === 'secrets' ? 'no' : undefined),
  });
  cluster = Cluster.open(await server.kubeconfig(nodeUser('n'), 'certificate'));
  expect((await cluster.raw('GET', `${path}/a`)).body).toMatchObject({
    code: 403,
    reason: 'Forbidden',
    message:
      'secrets "a" is forbidden: User "system:node:n" cannot get resource "secrets" in API group "" in the namespace "default": no',
    details: { name: 'a', kind: 'secrets' },
  });
  expect((await cluster.raw('GET', '/api/v1/pods')).code).toBe(200);
  const [first, second] = server.requests;
  expect(first).toMatchObject({ verb: 'get', plural: 'secrets', name: 'a', user: 'system:node:n', status: 403 });
  expect(second).toMatchObject({ verb: 'list', plural: 'pods', namespace: '', status: 200 });
  const token = server.identities.token(nodeUser('n'), 'secret-token');
  const headers = { authorization: `Bearer ${token}` };
  expect((await cluster.raw('GET', path, { headers })).code).toBe(403);
  server.identities.revoke(token);
  expect((await cluster.raw('GET', path, { headers })).code).toBe(401);
});

test('a wait that times out reports the requests seen', async () => {
  server.create(secret('here'));
  const waited = server.waitFor({ kind: 'Secret', name: 'here' }, () => false, 10);
  await expect(waited).rejects.toThrow('Secret here is not as awaited: {"');
  await expect(cluster.waitGone({ kind: 'Secret', name: 'here' }, 10)).rejects.toThrow('secrets/here is {"');
  await expect(server.waitForRequest(() => false, 10)).rejects.toThrow('no such request was received');
});
