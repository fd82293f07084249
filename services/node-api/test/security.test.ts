// Every endpoint with every kind of credential: a client that is not authenticated and authorized gets nothing, and
// has no effect.
import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { METHODS } from 'node:http';
import { type Answer, get } from './client.ts';
import { GuardedNode } from './guarded-node.ts';

let guarded: GuardedNode;

beforeAll(async () => {
  guarded = await GuardedNode.make();
});
afterAll(() => guarded.remove());
beforeEach(() => guarded.forget());

interface Endpoint {
  readonly method: string;
  readonly path: string;
  readonly subresources: readonly string[];
}

const proxy = ['proxy'];
const streams = ['exec', 'attach'].flatMap((kind) =>
  [`/${kind}/default/web/main`, `/${kind}/default/web/uid-web/main`].map((path) => `${path}?command=ls&output=1`),
);
const ports = ['/portForward/default/web?port=80', '/portForward/default/web/uid-web?port=80'];

/** Everything that the node serves, and some paths that it does not. */
const endpoints: readonly Endpoint[] = (
  [
    ['GET', '/healthz', ['healthz', 'proxy']],
    ['GET', '/healthz/ping', ['healthz', 'proxy']],
    ['GET', '/healthz/syncloop', ['healthz', 'proxy']],
    ['GET', '/pods', ['pods', 'proxy']],
    ['GET', '/pods/', ['pods', 'proxy']],
    ['GET', '/runningpods/', ['pods', 'proxy']],
    ['GET', '/configz', ['configz', 'proxy']],
    ['GET', '/stats/summary', ['stats']],
    ['GET', '/metrics', ['metrics']],
    ['GET', '/metrics/slis', ['metrics']],
    ['GET', '/metrics/cadvisor', ['metrics']],
    ['GET', '/metrics/resource', ['metrics']],
    ['GET', '/metrics/probes', ['metrics']],
    ['GET', '/containerLogs/default/web/main', proxy],
    ...[...streams, ...ports].flatMap((path) => [['GET', path, proxy] as const, ['POST', path, proxy] as const]),
    ['POST', '/run/default/web/main?cmd=ls', proxy],
    ['POST', '/run/default/web/uid-web/main?cmd=ls', proxy],
    ['POST', '/checkpoint/default/web/main', ['checkpoint']],
    ['GET', '/logs', ['log']],
    ['GET', '/logs/', ['log']],
    ['GET', '/logs/syslog', ['log']],
    ['PUT', '/debug/flags/v', proxy],
    ['GET', '/debug/pprof/profile?seconds=1', proxy],
    ['GET', '/statusz', ['statusz']],
    ['GET', '/flagz', ['configz']],
    ['GET', '/', proxy],
    ['GET', '/nothing', proxy],
    ['DELETE', '/pods', ['pods', 'proxy']],
    ['PUT', '/exec/default/web/main?command=ls&output=1', proxy],
  ] as const
).map(([method, path, subresources]) => ({ method, path, subresources }));

const verbs: Readonly<Record<string, string>> = { GET: 'get', POST: 'create', PUT: 'update', DELETE: 'delete' };
/** The upgrades that kubectl and a browser request. */
const upgrades = [undefined, 'SPDY/3.1', 'websocket'] as const;

/** The answer; undefined when a connection was cut off: OpenSSL does that with some certificates. */
async function ask(endpoint: Endpoint, by: object, upgrade?: string): Promise<Answer | undefined> {
  const { method, path } = endpoint;
  const about = `${method} ${path} ${upgrade ?? ''}`;
  try {
    return await get(guarded.port, path, { method, ...by, ...(upgrade !== undefined && { upgrade }) });
  } catch (error) {
    if (/hang up|ECONNRESET|alert/.test(String(error))) return undefined;
    throw new Error(about, { cause: error });
  }
}

/** A path that is not served is `proxy`, whatever its name. */
async function subresourcesOf(endpoint: Endpoint): Promise<readonly string[]> {
  const answer = await ask(endpoint, { token: guarded.token() });
  return answer?.text === '404 page not found\n' ? proxy : endpoint.subresources;
}

const forbidden = (user: string, method: string, subresources: readonly string[]) =>
  `Forbidden (user=${user}, verb=${verbs[method] ?? ''}, resource=nodes, subresource(s)=[${subresources.join(' ')}])\n`;

describe.each([false, true])('anonymous users allowed: %s', (anonymous) => {
  let needed: ReadonlyMap<Endpoint, readonly string[]>;

  beforeAll(async () => {
    await guarded.start(anonymous);
    needed = new Map(
      await Promise.all(endpoints.map(async (endpoint) => [endpoint, await subresourcesOf(endpoint)] as const)),
    );
    // Commands that were run are reported as streams.
    const runs = endpoints.filter(({ method, path }) => method === 'POST' && path.startsWith('/run/')).length;
    const { node } = guarded;
    await node.untilEvents(() => node.events.filter(({ what }) => what === 'ended').length === runs);
  });

  test('unauthenticated and unauthorized clients get 401 or 403 and nothing else', async () => {
    for (const [kind, by, known] of await guarded.refused()) {
      const user = known ?? (anonymous && kind === 'nothing' ? 'system:anonymous' : undefined);
      for (const endpoint of endpoints) {
        for (const upgrade of upgrades) {
          const answer = await ask(endpoint, by, upgrade);
          const about = { kind, ...endpoint, upgrade };
          if (answer === undefined) {
            expect({ about, cutOff: kind }).toEqual({ about, cutOff: 'a certificate of another authority' });
            continue;
          }
          const { status, text } = answer;
          const expected =
            user === undefined
              ? [401, 'Unauthorized']
              : [403, forbidden(user, endpoint.method, needed.get(endpoint) ?? [])];
          expect({ about, status, text }).toEqual({ about, status: expected[0], text: expected[1] });
          expect(answer.headers['content-type']).toBe('text/plain; charset=utf-8');
        }
      }
    }
    expect(guarded.node.asked).toEqual([]);
    expect(guarded.reached).toEqual([]);
    expect(guarded.node.events).toEqual([]);
  });

  test('no method bypasses authentication', async () => {
    for (const method of METHODS.filter((name) => name !== 'CONNECT')) {
      const { status } = await get(guarded.port, '/exec/default/web/main?command=ls&output=1', { method, token: 'no' });
      expect([method, status]).toEqual([method, 401]);
    }
    expect(guarded.node.asked).toEqual([]);
  });
});

test('an authorized user is served on every endpoint', async () => {
  await guarded.start();
  const { cluster } = guarded;
  const certificate = await cluster.authority.issue({ commonName: 'jane' }, 'client');
  for (const by of [{ token: guarded.token() }, { certificate }]) {
    for (const endpoint of endpoints) {
      const answer = await ask(endpoint, by);
      expect([endpoint, [401, 403, undefined].includes(answer?.status)]).toEqual([endpoint, false]);
      expect([endpoint, answer?.headers['x-content-type-options']]).toEqual([endpoint, 'nosniff']);
    }
  }
  const ran = guarded.reached.length;
  const paths = [...streams, ...ports];
  for (const path of paths) {
    const answer = await ask({ method: 'POST', path, subresources: [] }, { certificate }, 'SPDY/3.1');
    expect([path, answer?.status]).toEqual([path, 101]);
  }
  expect(guarded.reached.length - ran).toBe(paths.length);
});

describe('a path', () => {
  const outside = [
    '..',
    '%2e%2e',
    '%252e%252e',
    '..%2f..',
    '..%5c..',
    '%EF%BC%8E%EF%BC%8E',
    '%c0%ae%c0%ae',
    '%00',
    'main%00.log',
  ];

  test.each(outside)('with %s instead of any name finds nothing', async (name) => {
    const by = { token: guarded.token() };
    for (const path of ['containerLogs', 'exec', 'attach', 'run', 'checkpoint', 'portForward']) {
      for (const names of [
        [name, 'web', 'main'],
        ['default', name, 'main'],
        ['default', 'web', name],
      ]) {
        const asked = `/${path}/${names.join('/')}?command=ls&cmd=ls&output=1&port=80`;
        for (const method of ['GET', 'POST']) {
          const { status, text } = await get(guarded.port, asked, { method, ...by });
          expect([asked, [400, 404, 405, 500].includes(status)]).toEqual([asked, true]);
          expect(text).not.toContain('root:');
        }
      }
    }
    expect(guarded.node.asked).toEqual([]);
  });

  test('that is invalid is refused before authentication', async () => {
    const { status, text } = await get(guarded.port, '/pods/%zz', {});
    expect([status, text]).toEqual([400, '400 Bad Request']);
  });

  test('with the longest valid pod name is served, and a longer one is refused', async () => {
    const by = { token: guarded.token() };
    const { text } = await get(guarded.port, `/containerLogs/default/${'a'.repeat(253)}/main`, by);
    expect(text).toBe(`pod "${'a'.repeat(253)}" does not exist`);
    expect((await get(guarded.port, `/containerLogs/default/${'a'.repeat(254)}/main`, by)).status).toBe(414);
  });
});
