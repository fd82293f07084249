// Clients that are slow, silent or faulty cost little, and do not delay others.
import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import { poll } from '@kubus/harness';
import { once } from 'node:events';
import { readdirSync, readlinkSync } from 'node:fs';
import type { Socket } from 'node:net';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { podNamed } from './api-node.ts';
import { get } from './client.ts';
import { GuardedNode } from './guarded-node.ts';
import { rawConnection, sendRaw } from './raw-client.ts';

const MB = 1024 * 1024;

// Contexts that are created after this have `gc`.
setFlagsFromString('--expose-gc');
const collect = runInNewContext('gc') as () => void;

let guarded: GuardedNode;
let bearer: string;
const sockets: Socket[] = [];

beforeAll(async () => {
  guarded = await GuardedNode.make();
  for (let index = 0; index < 100; index += 1) guarded.node.want('api', podNamed(`${'x'.repeat(200)}-${index}`));
  await guarded.start();
  bearer = `Authorization: Bearer ${guarded.token()}`;
});
afterEach(() => {
  for (const socket of sockets.splice(0)) socket.destroy();
});
afterAll(() => guarded.remove());

/** What the process uses, client and server of the test together. */
function held(): { sockets: number; bytes: number } {
  // Garbage that one collection finds is freed in the background; the next one waits for that.
  collect();
  collect();
  const open = readdirSync('/proc/self/fd').filter((name) => isSocket(name)).length;
  const { heapUsed, external } = process.memoryUsage();
  return { sockets: open, bytes: heapUsed + external };
}

function isSocket(name: string): boolean {
  try {
    return readlinkSync(`/proc/self/fd/${name}`).startsWith('socket:');
  } catch {
    return false;
  }
}

async function connections(count: number): Promise<Socket[]> {
  const made = await Promise.all(Array.from({ length: count }, () => rawConnection(guarded.port)));
  sockets.push(...made);
  return made;
}

/** Another client is served meanwhile. */
async function served(): Promise<void> {
  expect((await get(guarded.port, '/pods', { token: guarded.token() })).status).toBe(200);
}

describe('other clients are served while', () => {
  test('request heads arrive byte by byte', async () => {
    const slow = await connections(100);
    for (const letter of `GET /pods HTTP/1.1\r\n${bearer}`) for (const socket of slow) socket.write(letter);
    await served();
  });

  test('request bodies never end, since they are answered before', async () => {
    const slow = await connections(100);
    for (const socket of slow) {
      socket.write(['POST /pods HTTP/1.1', 'Host: node', bearer, 'Content-Length: 1000000', '', 'begin'].join('\r\n'));
    }
    await Promise.all(
      slow.map(async (socket) => {
        const [answer] = (await once(socket, 'data')) as [Buffer];
        expect(answer.toString()).toMatch(/^HTTP\/1.1 405 /);
      }),
    );
    await served();
  });

  test('answers are not read, since few of them are produced', async () => {
    const before = held();
    const slow = await connections(20);
    const asking = ['GET /pods HTTP/1.1', 'Host: node', bearer, '', ''].join('\r\n').repeat(1_000);
    for (const socket of slow) socket.pause().write(asking);
    for (let round = 0; round < 20; round += 1) await served();
    // 20,000 answers would be 2 GB.
    expect(held().bytes - before.bytes).toBeLessThan(100 * MB);
  });

  test('connections without a request are open', async () => {
    await connections(200);
    await served();
  });
});

test('closed slow connections leave nothing behind', async () => {
  const before = held().sockets;
  await connections(200);
  for (const socket of sockets.splice(0)) socket.destroy();
  await poll('the connections have ended', () => Promise.resolve(held().sockets <= before || undefined));
});

/** A bad request for each number, in many ways. */
function badRequest(index: number): string[] {
  const paths = [
    '/pods',
    `/containerLogs/default/none-${index}/main`,
    `/containerLogs/default/web/${'%2e'.repeat(index % 50)}`,
    '/%zz',
    `/${'a'.repeat(index % 3_000)}`,
    `/exec/default/web/main?command=${'x'.repeat(index % 2_000)}&output=1`,
    `/portForward/default/web?port=${index}`,
    `/pods?${'&a=b'.repeat(index % 200)}`,
  ];
  const method = ['GET', 'POST', 'DELETE', 'OPTIONS', 'PROPFIND'][index % 5] ?? '';
  const token = index % 3 === 0 ? [`Authorization: Bearer made-up-${index % 60}`] : [];
  return [`${method} ${paths[index % paths.length] ?? ''} HTTP/1.1`, 'Host: node', ...token, `X-Number: ${index}`, ''];
}

/** The last request of a connection, for each number. */
function badEnd(index: number): string[] {
  const ends = [
    ['GET /pods HTTP/1.1', 'Host: node', 'Connection: close', '', ''],
    ['no request at all', '', ''],
    ['POST /pods HTTP/1.1', 'Host: node', 'Content-Length: 4', 'Transfer-Encoding: chunked', '', ''],
    ['POST /exec/default/web/main HTTP/1.1', 'Host: node', 'Connection: Upgrade', 'Upgrade: SPDY/3.1', '', ''],
  ];
  return ends[index % ends.length] ?? [];
}

test('10,000 bad requests leave the server unchanged', async () => {
  const perConnection = 50;
  const talk = async (index: number) => {
    const numbers = Array.from({ length: perConnection - 1 }, (_, one) => index * perConnection + one);
    const { statuses } = await sendRaw(guarded.port, [...numbers.flatMap(badRequest), ...badEnd(index)]);
    expect([index, statuses.filter((status) => ![400, 401].includes(status))]).toEqual([index, []]);
  };
  /** So many connections, ten of them at once. */
  const talks = async (from: number, count: number) => {
    const left = Array.from({ length: count }, (_, index) => from + index);
    const some = async () => {
      for (let index = left.shift(); index !== undefined; index = left.shift()) await talk(index);
    };
    await Promise.all(Array.from({ length: 10 }, some));
  };
  // Until the token reviews are cached and the code is compiled.
  await talks(0, 100);
  const before = held();
  await talks(100, 100);
  await poll('the connections have ended', () => Promise.resolve(held().sockets <= before.sockets || undefined));
  expect(held().bytes - before.bytes).toBeLessThan(5 * MB);
  expect(guarded.node.asked).toEqual([]);
  expect(guarded.reached).toEqual([]);
  expect(guarded.node.api.streams).toBe(0);
  await served();
});
