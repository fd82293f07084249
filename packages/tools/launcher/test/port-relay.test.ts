import { type ChildProcess, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { type AddressInfo, type Server, type Socket, connect, createServer } from 'node:net';
import { Readable } from 'node:stream';
import { finished } from 'node:stream/promises';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePort } from '../src/network/free-port.ts';
import { compileNatives } from '../src/node/natives.ts';
import { afterTest } from './support.ts';

const MB = 1024 * 1024;

/** A relay between two ports of the loopback: both of its namespaces are the one of the test. */
interface Relay {
  readonly port: number;
  readonly said: () => string;
  /** Resolves when the relay has logged it. */
  readonly says: (text: string) => Promise<void>;
}

/** What a test does with each connection that reaches the server's end. */
let serve: (socket: Socket) => void;
let server: Server;
let served: Set<Socket>;
let relay: Relay;
let cache = '';

beforeAll(async () => {
  cache = await mkdtemp(join(tmpdir(), 'kubus-launcher-'));
});
afterAll(() => rm(cache, { recursive: true, force: true }));

beforeEach(async () => {
  serve = echo;
  served = new Set();
  server = createServer({ allowHalfOpen: true }, (socket) => {
    served.add(socket);
    socket.on('error', () => undefined);
    socket.once('close', () => served.delete(socket));
    serve(socket);
  });
  await listen(0);
  afterTest(leave);
  relay = await startRelay((server.address() as AddressInfo).port);
});

function echo(socket: Socket): void {
  socket.pipe(socket);
}

async function listen(port: number): Promise<void> {
  server.listen(port, '127.0.0.1');
  await once(server, 'listening');
}

/** The server ends like a killed one: its port refuses, its connections end. */
async function leave(): Promise<void> {
  if (!server.listening) return;
  const closed = once(server, 'close');
  server.close();
  for (const socket of served) socket.resetAndDestroy();
  await closed;
}

async function startRelay(serverPort: number): Promise<Relay> {
  const { portRelay } = await compileNatives(cache);
  const port = await freePort();
  const args = [String(port), '/proc/self/ns/net', 'localhost', String(serverPort)];
  const child = spawn(portRelay, args, { stdio: ['ignore', 'ignore', 'pipe'] });
  afterTest(() => end(child));
  let said = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => (said += text));
  const says = async (text: string) => {
    while (!said.includes(text)) await Promise.race([once(child.stderr, 'data'), failOnEnd(child)]);
  };
  await says('forwarding');
  return { port, said: () => said, says };
}

async function failOnEnd(child: ChildProcess): Promise<never> {
  await once(child.stderr ?? child, 'end');
  throw new Error('the relay ended');
}

async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const exited = once(child, 'exit');
  child.kill();
  await exited;
}

function dial(): Socket {
  const socket = connect({ port: relay.port, host: '127.0.0.1', allowHalfOpen: true });
  socket.on('error', () => undefined);
  afterTest(async () => {
    if (socket.closed) return;
    const closed = once(socket, 'close');
    socket.destroy();
    await closed;
  });
  return socket;
}

/**
 * Everything received until the other side ends its direction. Unlike an async iterator of Node.js it leaves our
 * direction open.
 */
function whole(socket: Socket): Promise<Buffer> {
  const parts: Buffer[] = [];
  return new Promise((resolve, reject) => {
    socket.once('end', () => resolve(Buffer.concat(parts)));
    socket.once('error', reject);
    socket.on('data', (part: Buffer) => parts.push(part)).resume();
  });
}

/** One message there and back. */
function roundTrip(socket: Socket, message: Buffer): Promise<void> {
  let received = Buffer.alloc(0);
  return new Promise((resolve, reject) => {
    const onEnd = () => reject(new Error('the connection ended before the answer'));
    const onData = (part: Buffer) => {
      received = Buffer.concat([received, part]);
      if (received.length < message.length) return;
      socket.off('data', onData).off('end', onEnd).pause();
      if (received.equals(message)) resolve();
      else reject(new Error('the response differs from the request'));
    };
    socket.on('data', onData).once('end', onEnd).resume();
    socket.write(message);
  });
}

test('bytes are relayed unchanged, and each direction is closed separately', async () => {
  const sent = randomBytes(8 * MB);
  // Answers only after the client has ended its own direction.
  serve = (socket) => void whole(socket).then((all) => socket.end(all));
  const socket = dial();
  socket.end(sent);
  expect((await whole(socket)).equals(sent)).toBe(true);
});

test('both directions carry large amounts of data at once', async () => {
  const [up, down] = [randomBytes(16 * MB), randomBytes(16 * MB)];
  const arrived = Promise.withResolvers<Buffer>();
  serve = (socket) => {
    socket.end(down);
    whole(socket).then(arrived.resolve, arrived.reject);
  };
  const socket = dial();
  socket.end(up);
  expect((await whole(socket)).equals(down)).toBe(true);
  expect((await arrived.promise).equals(up)).toBe(true);
});

test('a side that does not read stops its peer, and no other connection', async () => {
  const chunk = randomBytes(MB);
  const total = 128;
  let made = 0;
  function* chunks() {
    for (; made < total; made++) yield chunk;
  }
  serve = (socket) => void Readable.from(chunks(), { objectMode: false }).pipe(socket);
  const slow = dial().pause();
  await once(server, 'connection');
  serve = echo;
  const other = dial();
  for (let count = 0; count < 500; count++) await roundTrip(other, Buffer.from(`message ${count}`));
  // The capacity of the buffers of the kernel and of this process.
  expect(made).toBeLessThan(total / 2);
  const all = await whole(slow);
  expect(all.length).toBe(total * MB);
  for (let at = 0; at < all.length; at += MB) expect(all.subarray(at, at + MB).equals(chunk)).toBe(true);
});

test('a hundred connections do not affect each other', async () => {
  const sockets = Array.from({ length: 100 }, dial);
  for (let round = 0; round < 3; round++) {
    await Promise.all(sockets.map((socket) => roundTrip(socket, randomBytes(10_000))));
  }
  expect(served.size).toBe(100);
  await Promise.all(sockets.map((socket) => finished(socket.end().resume())));
  while (served.size > 0) await Promise.all([...served].map((socket) => once(socket, 'close')));
});

describe('when one side has closed', () => {
  test.each<[string, (socket: Socket) => void]>([
    ['ends', (socket) => socket.destroy()],
    ['is reset', (socket) => socket.resetAndDestroy()],
  ])('the connection of a client that %s is closed at the server', async (_how, leaveServer) => {
    const atServer = Promise.withResolvers<Socket>();
    serve = (socket) => atServer.resolve(socket);
    const socket = dial();
    await once(socket, 'connect');
    const reached = await atServer.promise;
    leaveServer(socket);
    expect(await whole(reached)).toHaveLength(0);
  });

  test('connections are closed when the server is killed; new ones are closed until it is back', async () => {
    const { port } = server.address() as AddressInfo;
    const before = dial();
    await roundTrip(before, Buffer.from('before'));
    await leave();
    await finished(before.resume(), { writable: false }).catch(() => undefined);
    for (let attempt = 0; attempt < 20; attempt++) {
      const refused = dial();
      await finished(refused.resume(), { writable: false }).catch(() => undefined);
      expect(refused.bytesRead).toBe(0);
    }
    await relay.says('cannot reach');
    await listen(port);
    await roundTrip(dial(), Buffer.from('after'));
    await relay.says('reachable again');
    // A line for each change, not for each attempt.
    expect(relay.said().match(/cannot reach|reachable again/g)).toEqual(['cannot reach', 'reachable again']);
  });
});
