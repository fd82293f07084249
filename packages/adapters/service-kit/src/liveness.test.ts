import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { ManualClock, settled } from '@kubus/ports/testing';
import { execFileSync } from 'node:child_process';
import { closeSync, constants, open, openSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer } from 'node:http';
import { type AddressInfo, createServer as createSocketServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { httpDoor, socketDoor, tlsDoor } from './door.ts';
import { Health } from './health.ts';
import { Liveness } from './liveness.ts';

let folder: string;
let clock: ManualClock;
let health: Health;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'kubus-liveness-'));
  clock = new ManualClock();
  health = new Health();
});
afterEach(() => rm(folder, { recursive: true }));

const problems = () => Object.entries(health.report('live').checks).filter(([, text]) => text !== 'ok');

test('a service is alive as long as its timers run', async () => {
  const liveness = new Liveness({ health, clock, fileThread: () => Promise.resolve() });
  for (let looks = 0; looks < 5; looks++) {
    await clock.advance(10_000);
    liveness.look();
  }
  await settled();
  expect(health.report('live')).toEqual({ ok: true, checks: { 'event loop': 'ok', 'file threads': 'ok' } });
  await clock.advance(31_000);
  expect(problems()).toEqual([['event loop', 'no timer has run for 21 s']]);
});

test('blocked file threads are a problem until one of them is free', async () => {
  const fifo = join(folder, 'fifo');
  execFileSync('mkfifo', [fifo]);
  // Each waits in a thread for the other end; Node.js has four by default, and never more than 1024.
  const threads = Number(process.env['UV_THREADPOOL_SIZE'] ?? 4);
  const opened = Array.from(
    { length: threads },
    () =>
      new Promise<number>((resolve, reject) => open(fifo, 'r', (error, fd) => (error ? reject(error) : resolve(fd)))),
  );
  const liveness = new Liveness({ health, clock });
  const looks = async (count: number) => {
    for (let look = 0; look < count; look++) {
      liveness.look();
      await clock.advance(10_000);
    }
  };
  await looks(4);
  expect(problems()).toEqual([['file threads', 'no answer for 40 s']]);
  const end = openSync(fifo, constants.O_RDWR | constants.O_NONBLOCK);
  for (const fd of await Promise.all(opened)) closeSync(fd);
  closeSync(end);
  await new Promise<void>((resolve) => {
    const look = () => (problems().length === 0 ? resolve() : setImmediate(look));
    look();
  });
});

describe('a door', () => {
  test.each([
    ['over HTTP', (port: number) => httpDoor({ host: '127.0.0.1', port })],
    ['of connections', (port: number) => socketDoor({ host: '127.0.0.1', port })],
    ['over TLS', (port: number) => tlsDoor({ host: '127.0.0.1', port })],
  ])('%s that is closed is a problem, and one that answers anything is none', async (_, doorTo) => {
    const server = createServer((_request, response) => response.writeHead(401).end());
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const { port } = server.address() as AddressInfo;
    const liveness = new Liveness({ health, clock, fileThread: () => Promise.resolve() });
    const door = doorTo(port);
    liveness.door('door', door);
    await expect(door()).resolves.toBeUndefined();
    await new Promise((resolve) => {
      server.close(resolve);
      server.closeAllConnections();
    });
    await expect(door()).rejects.toThrow('ECONNREFUSED');
    const failing = new Liveness({ health, clock, fileThread: () => Promise.resolve() });
    failing.door('door', () => Promise.reject(new Error('connect ECONNREFUSED')));
    for (let look = 0; look < 4; look++) {
      failing.look();
      await clock.advance(10_000);
    }
    expect(problems()).toEqual([['door', 'connect ECONNREFUSED for 40 s']]);
  });

  test('at which nobody answers is asked once at a time', async () => {
    let asked = 0;
    const liveness = new Liveness({ health, clock, fileThread: () => Promise.resolve() });
    liveness.door('silent', () => new Promise(() => void (asked += 1)));
    for (let look = 0; look < 4; look++) {
      liveness.look();
      await clock.advance(10_000);
    }
    expect(asked).toBe(1);
    expect(problems()).toEqual([['silent', 'no answer for 40 s']]);
  });

  test('of a socket does not wait for what the server sends', async () => {
    const path = join(folder, 's');
    const server = createSocketServer((socket) => void socket.on('error', () => undefined).end('hello'));
    await new Promise<void>((resolve) => server.listen(path, resolve));
    await expect(socketDoor({ path })()).resolves.toBeUndefined();
    await new Promise((resolve) => server.close(resolve));
    await expect(socketDoor({ path })()).rejects.toThrow(/ENOENT|ECONNREFUSED/);
  });
});
