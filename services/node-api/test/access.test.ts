// Which clients are served: with real TLS, and an API server that reviews users.
import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { poll } from '@kubus/harness';
import { type AccessAttributes, Authority, type KeyPair, TestApiServer } from '@kubus/kube-fixture';
import { writeFile } from 'node:fs/promises';
import { Agent } from 'node:https';
import { join } from 'node:path';
import type { ServerConfig } from '../src/index.ts';
import { ApiNode, NODE, open, podNamed } from './api-node.ts';
import { type Ask, get } from './client.ts';
import { startGuarded } from './guarded-node.ts';

let node: ApiNode;
let cluster: TestApiServer;
let caFile: string;
let asked: AccessAttributes[] = [];
const nothing = () => false;
let deny: (attributes: AccessAttributes) => boolean = nothing;

beforeAll(async () => {
  cluster = await TestApiServer.start({
    authorize: (attributes) => {
      if (attributes.resource !== 'nodes') return undefined;
      asked.push(attributes);
      return deny(attributes) ? 'the test says no' : undefined;
    },
  });
  node = await ApiNode.make();
  node.want('api', podNamed('web'));
  caFile = join(node.folder, 'ca.crt');
  await writeFile(caFile, cluster.authority.certificate);
});
afterAll(async () => {
  await node.remove();
  await cluster.close();
});

beforeEach(() => {
  asked = [];
  deny = nothing;
});

const ask = (path: string, by: Ask = {}) => get(node.api.ports.secure, path, by);
const client = (commonName: string, organizations: string[] = [], authority = cluster.authority) =>
  authority.issue({ commonName, organizations }, 'client');

async function start(
  authentication: Partial<ServerConfig['authentication']> = {},
  authorization: Partial<ServerConfig['authorization']> = {},
): Promise<void> {
  deny = nothing;
  await startGuarded(node, cluster, { clientCaFile: caFile, ...authentication }, authorization);
  asked = [];
}

/** Resolves when a client with this certificate is served. A connection during the change may be cut off. */
async function untilAccepted(certificate: KeyPair): Promise<void> {
  await poll('the CA is in effect', async () => {
    const answer = await ask('/pods', { certificate }).catch(() => undefined);
    return answer?.status === 200 || undefined;
  });
}

/**
 * The certificate is refused. OpenSSL cuts off some connections, since two CAs with the same name look to it like a
 * forged signature.
 */
async function refused(certificate: KeyPair): Promise<void> {
  const answer = await ask('/pods', { certificate }).catch((error: unknown) => String(error));
  if (typeof answer === 'string') expect(answer).toMatch(/hang up|ECONNRESET|alert/);
  else expect(answer).toMatchObject({ status: 401, text: 'Unauthorized' });
}

const reviews = (kind: string) => cluster.requests.filter(({ path }) => path.endsWith(kind)).length;

describe('a client certificate', () => {
  let admin: KeyPair;

  beforeAll(async () => {
    admin = await client('jane', ['team-a', 'team-b']);
    await start({ anonymous: true });
  });

  test('contains the user and the groups, for which access is reviewed once', async () => {
    expect((await ask('/pods', { certificate: admin })).status).toBe(200);
    expect((await ask('/pods', { certificate: admin })).status).toBe(200);
    expect(asked).toEqual([
      {
        user: { username: 'jane', groups: ['team-a', 'team-b', 'system:authenticated'] },
        ...{ verb: 'get', group: '', resource: 'nodes', subresource: 'pods', namespace: '', name: NODE },
      },
    ]);
  });

  test('of another CA is refused, also where anonymous requests are allowed', async () => {
    await refused(await client('jane', ['system:masters'], await Authority.create()));
    expect(asked).toEqual([]);
  });

  test('for servers is refused, but a valid token sent with it is accepted', async () => {
    const certificate = await cluster.authority.issue({ commonName: 'jane' }, 'server');
    await refused(certificate);
    expect(asked).toEqual([]);
    const token = cluster.identities.token({ username: 'joe', groups: [] });
    expect((await ask('/pods', { certificate, token })).status).toBe(200);
  });

  test('of CAs that are no longer trusted is refused, also on a connection from before', async () => {
    const next = await Authority.create();
    const successor = await client('jim', [], next);
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    expect((await ask('/pods', { certificate: admin, agent })).status).toBe(200);
    await writeFile(caFile, next.certificate);
    await untilAccepted(successor);
    await expect(ask('/pods', { certificate: admin, agent })).rejects.toThrow(/hang up|ECONNRESET/);
    await refused(admin);
    agent.destroy();
    await writeFile(caFile, cluster.authority.certificate);
    await untilAccepted(admin);
  });
});

describe('a token', () => {
  beforeAll(() => start({ anonymous: true }));

  test('is reviewed once for several requests', async () => {
    const token = cluster.identities.token({ username: 'joe', uid: '7', groups: ['a'] });
    const before = reviews('tokenreviews');
    const answers = await Promise.all([1, 2, 3].map(() => ask('/pods', { token })));
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200]);
    expect((await ask('/pods', { token })).status).toBe(200);
    expect(reviews('tokenreviews')).toBe(before + 1);
    expect(asked.map(({ user }) => user)).toEqual([{ username: 'joe', groups: ['a', 'system:authenticated'] }]);
  });

  test('that is unknown is refused', async () => {
    expect(await ask('/pods', { token: 'made-up' })).toMatchObject({ status: 401, text: 'Unauthorized' });
    expect(asked).toEqual([]);
  });

  test('that was reviewed before stays valid while the API server is unreachable; all else is refused', async () => {
    const known = cluster.identities.token({ username: 'known', groups: [] });
    expect((await ask('/pods', { token: known })).status).toBe(200);
    await cluster.pause();
    try {
      expect((await ask('/pods', { token: known })).status).toBe(200);
      expect(await ask('/healthz', { token: known })).toMatchObject({
        status: 500,
        text: 'Authorization error (user=known, verb=get, resource=nodes, subresource=healthz)',
      });
      expect((await ask('/pods', { token: cluster.identities.token({ username: 'x', groups: [] }) })).status).toBe(401);
    } finally {
      await cluster.resume();
    }
  });
});

describe('a request without credentials', () => {
  test('is refused for every path', async () => {
    await start();
    for (const path of ['/pods', '/healthz', '/containerLogs/default/web/main', '/nothing', '/%70ods']) {
      expect(await ask(path)).toMatchObject({ status: 401, text: 'Unauthorized' });
    }
    expect(asked).toEqual([]);
  });

  test('is the user system:anonymous where that is allowed', async () => {
    await start({ anonymous: true });
    deny = ({ subresource }) => subresource !== 'healthz';
    expect((await ask('/healthz/ping')).text).toBe('ok');
    expect(asked.map(({ user }) => user)).toEqual([
      { username: 'system:anonymous', groups: ['system:unauthenticated'] },
    ]);
    expect((await ask('/pods')).status).toBe(403);
  });
});

describe('authorization', () => {
  beforeAll(() => start());

  test.each([
    ['/pods', 'GET', ['pods', 'proxy'], 'get'],
    ['/%70ods', 'GET', ['pods', 'proxy'], 'get'],
    ['/healthz/ping', 'GET', ['healthz', 'proxy'], 'get'],
    ['/containerLogs/default/web/main', 'GET', ['proxy'], 'get'],
    ['/containerLogs/default/web/main', 'POST', ['proxy'], 'create'],
    ['/healthz/../containerLogs/default/web/main', 'GET', ['proxy'], 'get'],
    ['//pods', 'GET', ['proxy'], 'get'],
    ['/nothing', 'DELETE', ['proxy'], 'delete'],
  ])('%s %s needs one of %j', async (path, method, subresources, verb) => {
    const user = `user of ${path} ${method}`;
    const token = cluster.identities.token({ username: user, groups: [] });
    deny = () => true;
    expect(await ask(path, { token, method })).toMatchObject({
      status: 403,
      text: `Forbidden (user=${user}, verb=${verb}, resource=nodes, subresource(s)=[${subresources.join(' ')}])\n`,
    });
    expect(asked.map(({ subresource }) => subresource)).toEqual(subresources);
    expect(new Set(asked.map((one) => one.verb))).toEqual(new Set([verb]));
  });

  test('allows a request when any of its subresources is allowed', async () => {
    const token = cluster.identities.token({ username: 'proxy-only', groups: [] });
    deny = ({ subresource }) => subresource !== 'proxy';
    expect((await ask('/pods', { token })).status).toBe(200);
    expect(asked.map(({ subresource }) => subresource)).toEqual(['pods', 'proxy']);
  });

  test('allows everything to all authenticated users with AlwaysAllow', async () => {
    await start({}, { mode: 'AlwaysAllow' });
    deny = () => true;
    const token = cluster.identities.token({ username: 'anybody', groups: [] });
    expect((await ask('/pods', { token })).status).toBe(200);
    expect((await ask('/pods')).status).toBe(401);
    expect(asked).toEqual([]);
  });
});

test('the start fails with a client CA file that contains no certificate', async () => {
  const empty = join(node.folder, 'empty.crt');
  await writeFile(empty, '');
  const authentication = { ...open.authentication, clientCaFile: empty };
  await expect(node.start({ ...open, authentication })).rejects.toThrow(`${empty}: contains no certificate`);
});

test.each([
  [{ authentication: { ...open.authentication, webhook: true } }, 'server.authentication.webhook'],
  [{ authorization: { ...open.authorization, mode: 'Webhook' } as const }, 'server.authorization.mode'],
])('the start fails without an API server when the configuration needs one: %j', async (server, field) => {
  await expect(node.start({ ...open, ...server })).rejects.toThrow(
    `${field}: needs apiServer, which is not configured`,
  );
});
