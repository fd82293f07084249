// What a client that nobody has authenticated may cost the node.
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { once } from 'node:events';
import { get } from './client.ts';
import { GuardedNode } from './guarded-node.ts';
import { rawConnection, sendRaw } from './raw-client.ts';

let guarded: GuardedNode;
let bearer: string;

beforeAll(async () => {
  guarded = await GuardedNode.make();
  await guarded.start();
  bearer = `Authorization: Bearer ${guarded.token()}`;
});
afterAll(() => guarded.remove());

const close = 'Connection: close';
const healthz = (query: string) => [`GET /healthz?${query} HTTP/1.1`, 'Host: node', bearer, close, '', ''];

test('a query with 10,000 parameters of one name is read, a longer one is refused before anybody is authenticated', async () => {
  expect((await sendRaw(guarded.port, healthz('a&'.repeat(9_999)))).statuses).toEqual([500]);
  const { statuses, text } = await sendRaw(guarded.port, [
    ...[`GET /healthz?${'a&'.repeat(100_000)} HTTP/1.1`, 'Host: node', close, '', ''],
  ]);
  expect([statuses, text]).toEqual([[400], expect.stringContaining('too many parameters in the query')]);
});

test.each(['constructor=1', '__proto__=1', 'toString&exclude=hasOwnProperty'])(
  'a parameter may have the name of a property: %s',
  async (query) => {
    const { statuses, text } = await sendRaw(guarded.port, healthz(query));
    expect([statuses, text]).toEqual([[500], expect.stringContaining('healthz check failed')]);
  },
);

test('a header of more than 256 KiB is refused', async () => {
  const lines = ['GET /healthz HTTP/1.1', 'Host: node', `X-Long: ${'a'.repeat(256 * 1024)}`, close, '', ''];
  expect((await sendRaw(guarded.port, lines)).statuses).toEqual([431]);
});

test.each([
  ['of a known length', 'Content-Length: 100000000', ''],
  ['of an unknown length', 'Transfer-Encoding: chunked', '5f5e100\r\n'],
])('a body of 100 MB %s is not read from a client that is not authenticated', async (_, length, begin) => {
  const socket = await rawConnection(guarded.port);
  const closed = once(socket, 'close');
  socket.resume().write(['POST /pods HTTP/1.1', 'Host: node', length, '', begin].join('\r\n'));
  const piece = Buffer.alloc(1_000_000);
  let pieces = 0;
  for (; pieces < 100 && socket.writable; pieces += 1) {
    const isFull = !socket.write(piece);
    if (isFull) await Promise.race([once(socket, 'drain'), closed]);
  }
  await closed;
  expect(pieces).toBeLessThan(50);
});

test.each(['/healthz', '/healthz/ping', '/pods', '/metrics'])(
  'HEAD %s answers as GET does, without the body',
  async (path) => {
    const by = { token: guarded.token() };
    const [head, whole] = [await get(guarded.port, path, { ...by, method: 'HEAD' }), await get(guarded.port, path, by)];
    expect([head.status, head.text, head.headers['content-type']]).toEqual([
      whole.status,
      '',
      whole.headers['content-type'],
    ]);
  },
);
