// Requests that two parsers could read differently: raw bytes over real TLS.
import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { GuardedNode } from './guarded-node.ts';
import { sendRaw } from './raw-client.ts';

let guarded: GuardedNode;
let bearer: string;

beforeAll(async () => {
  guarded = await GuardedNode.make();
  await guarded.start();
  bearer = `Authorization: Bearer ${guarded.token()}`;
});
afterAll(() => guarded.remove());
beforeEach(() => guarded.forget());

const send = (lines: readonly string[], enough?: string) => sendRaw(guarded.port, lines, enough);
const close = 'Connection: close';
/** A request of an authorized user, which would be answered with 200 if it were taken for a separate one. */
const hidden = () => ['GET /pods HTTP/1.1', 'Host: node', bearer, close, '', ''];

describe('an ambiguous request is refused, and what follows it is not read', () => {
  test.each([
    ['two lengths of the body', ['Content-Length: 4', 'Transfer-Encoding: chunked']],
    ['two lengths of the body, the other way round', ['Transfer-Encoding: chunked', 'Content-Length: 4']],
    ['two lengths', ['Content-Length: 4', 'Content-Length: 5']],
    ['an invalid length', ['Content-Length: +4']],
    ['a coding that is not the last one', ['Transfer-Encoding: chunked, identity']],
    ['a hidden coding', ['Transfer-Encoding : chunked']],
    ['a folded line', ['X-Folded: one', ' two']],
    ['a NUL', ['X-Nul: a\0b']],
    ['a carriage return alone', ['X-Return: a\rContent-Length: 4']],
    ['a line feed alone', ['X-Feed: a\nContent-Length: 4']],
    ['a name with a space', ['X Name: a']],
    ['two hosts', ['Host: other']],
  ])('%s', async (_, headers) => {
    const { statuses } = await send(['POST /pods HTTP/1.1', 'Host: node', ...headers, bearer, '', ...hidden()]);
    expect(statuses).toEqual([400]);
  });

  test.each([
    ['HTTP/2 without negotiation', ['PRI * HTTP/2.0', '', 'SM', '', '']],
    ['no version', ['GET /pods', '', '']],
    ['another version', ['GET /pods HTTP/3.0', 'Host: node', '', '']],
    ['no host', ['GET /pods HTTP/1.1', '', '']],
    ['no method', ['/pods HTTP/1.1', 'Host: node', '', '']],
    ['no HTTP', ['\x16\x03\x01', '', '']],
  ])('%s', async (_, lines) => {
    const { statuses } = await send([...lines, ...hidden()]);
    expect(statuses).toEqual([400]);
  });
});

describe('each request is authorized by itself', () => {
  test('on a shared connection', async () => {
    const one = (...more: string[]) => ['GET /pods HTTP/1.1', 'Host: node', ...more, ''];
    const { statuses } = await send([...one(bearer), ...one(), ...one('Authorization: Bearer no', close), '']);
    expect(statuses).toEqual([200, 401, 401]);
  });

  test('by its path, also in a URL with a host', async () => {
    for (const target of ['http://elsewhere/pods', 'https://node/%70ods', '/pods?path=/healthz', '/pods#/healthz']) {
      const nobody = await send([`GET ${target} HTTP/1.1`, 'Host: node', close, '', '']);
      expect([target, nobody.statuses]).toEqual([target, [401]]);
      guarded.forget();
      const joe = `Authorization: Bearer ${guarded.token(`joe ${target}`)}`;
      const other = await send([`GET ${target} HTTP/1.1`, 'Host: node', joe, close, '', '']);
      expect([target, other.statuses]).toEqual([target, [403]]);
      expect(guarded.asked.map(({ subresource }) => subresource)).toEqual(['pods', 'proxy']);
    }
  });

  test('by its credentials, not by a user in a header', async () => {
    const names = ['Impersonate-User: jane', 'X-Remote-User: jane', 'X-Forwarded-User: jane', 'Impersonate-Uid: 1'];
    const joe = `Authorization: Bearer ${guarded.token('joe')}`;
    const { statuses } = await send(['GET /pods HTTP/1.1', 'Host: node', ...names, joe, close, '', '']);
    expect(statuses).toEqual([403]);
    expect(new Set(guarded.asked.map(({ user }) => user.username))).toEqual(new Set(['joe']));
  });
});

describe('an upgrade', () => {
  const path = '/exec/default/web/main?command=ls&output=1';
  const asking = ['Host: node', 'Connection: Upgrade', 'Upgrade: SPDY/3.1'];

  test('that is refused ends the connection, and what follows it is not read', async () => {
    const { statuses } = await send([`POST ${path} HTTP/1.1`, ...asking, '', ...hidden()]);
    expect(statuses).toEqual([401]);
  });

  test('after a request that is not answered yet ends the connection', async () => {
    const first = ['GET /pods HTTP/1.1', 'Host: node', 'Authorization: Bearer not-known-yet', ''];
    const { statuses } = await send([...first, `POST ${path} HTTP/1.1`, ...asking, bearer, '', '']);
    expect(statuses).toEqual([]);
    expect(guarded.reached).toEqual([]);
    expect((await send(hidden())).statuses).toEqual([200]);
  });

  test('for a path that is not a stream is an ordinary request, and ends the connection', async () => {
    const lines = ['GET /pods HTTP/1.1', 'Host: node', 'Connection: Upgrade, HTTP2-Settings', 'Upgrade: h2c', bearer];
    const { statuses } = await send([...lines, 'HTTP2-Settings: AAMAAABkAARAAAAAAAIAAAAA', '', ...hidden()]);
    expect(statuses).toEqual([200]);
  });

  test.each([
    ['a length', 'Content-Length: 4'],
    ['pieces', 'Transfer-Encoding: chunked'],
  ])('with a body by %s has no body for the runtime: its bytes belong to the stream', async (_, header) => {
    const { statuses } = await send([`POST ${path} HTTP/1.1`, ...asking, bearer, header, '', 'body'], '\r\n\r\n');
    expect(statuses).toEqual([101]);
    expect(guarded.reached.map(({ headers }) => headers['content-length'])).toEqual(['0']);
    expect(guarded.reached.map(({ headers }) => headers['transfer-encoding'])).toEqual([undefined]);
    expect(guarded.behind).toBe('body');
  });

  test('forwards only the necessary headers to the runtime', async () => {
    const wanted = ['User-Agent: test', 'Origin: http://x', 'X-Stream-Protocol-Version: v4.channel.k8s.io'];
    const others = ['Cookie: a=b', 'Forwarded: for=x', 'X-Forwarded-For: x', 'Impersonate-User: jane', 'TE: trailers'];
    const socket = ['Sec-WebSocket-Key: key', 'Sec-WebSocket-Protocol: v4.channel.k8s.io', 'Sec-WebSocket-Version: 13'];
    await send([`POST ${path} HTTP/1.1`, ...asking, bearer, ...others, ...wanted, ...socket, '', ''], '\r\n\r\n');
    expect(guarded.reached.map(({ headers }) => Object.keys(headers).sort())).toEqual([
      [
        ...['connection', 'content-length', 'host', 'origin', 'sec-websocket-key', 'sec-websocket-protocol'],
        ...['sec-websocket-version', 'upgrade', 'user-agent', 'x-stream-protocol-version'],
      ],
    ]);
  });
});
