// Connections that break at any point, on any side, leave nothing behind.
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { poll } from '@kubus/harness';
import { compileStatic } from '@kubus/node-images';
import fc from 'fast-check';
import { once } from 'node:events';
import { readdirSync, readlinkSync } from 'node:fs';
import { type Server, createServer } from 'node:http';
import { type AddressInfo, Socket, connect } from 'node:net';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { ApiNode, open, podNamed, runOf } from './api-node.ts';
import { rawConnection } from './raw-client.ts';

let node: ApiNode;
let socketPath: string;
let runtime: Server;
/** How the runtime handles the next connection. */
let serve: (socket: Socket) => void;
let runtimes = 0;

beforeAll(async () => {
  runtime = createServer();
  runtime.on('upgrade', (_request, socket) => {
    runtimes += 1;
    socket.on('error', () => undefined).once('close', () => (runtimes -= 1));
    socket.write('HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: SPDY/3.1\r\n\r\n');
    if (!(socket instanceof Socket)) throw new Error('not a socket');
    serve(socket);
  });
  runtime.listen(0, '127.0.0.1');
  await once(runtime, 'listening');
  const pod = podNamed('web');
  node = await ApiNode.make();
  node.streamingUrl = `http://127.0.0.1:${(runtime.address() as AddressInfo).port}/exec/token`;
  node.want('api', pod);
  node.runs(pod, [runOf('run', '')]);
  const relay = fileURLToPath(new URL('../relay/stream-relay.c', import.meta.url));
  socketPath = join(node.folder, 'api.sock');
  const streamRelay = await compileStatic(relay, node.folder);
  await node.start({ ...open, socket: socketPath, streamRelay, streamLingerMs: 1_000 });
});
afterAll(async () => {
  await node.remove();
  runtime.close();
});

/** Sockets of this process: the node's, the runtime's and the clients'. */
function openSockets(): number {
  const links = readdirSync('/proc/self/fd').map((name) => {
    try {
      return readlinkSync(`/proc/self/fd/${name}`);
    } catch {
      return '';
    }
  });
  return links.filter((link) => link.startsWith('socket:')).length;
}

/** Over HTTPS, or over the node's own socket and the relay. */
const ways = ['https', 'socket'] as const;
type Way = (typeof ways)[number];
type Ending = 'end' | 'destroy' | 'reset';

/** A side breaks in this way after it has received so many bytes; undefined: it never does. */
interface Break {
  readonly after: number;
  readonly way: Ending;
}

function breakAfter(socket: Socket, { after, way }: Break): void {
  let got = 0;
  const look = () => {
    if (got < after || socket.destroyed) return;
    if (way === 'end') socket.end();
    else if (way === 'destroy') socket.destroy();
    else socket.resetAndDestroy();
  };
  socket.on('data', (chunk: Buffer) => {
    got += chunk.length;
    look();
  });
  look();
}

const breaks = (...endings: Ending[]): fc.Arbitrary<Break> =>
  fc.record({ after: fc.oneof(fc.constant(0), fc.nat(100), fc.nat(200_000)), way: fc.constantFrom(...endings) });
// A TLS connection cannot be reset without its socket.
const clients = breaks('end', 'destroy');
const runtimeSides = breaks('end', 'destroy', 'reset');

/** Opens a connection with the command of a container. */
async function connectExec(way: Way): Promise<Socket> {
  const socket = way === 'https' ? await rawConnection(node.api.ports.secure) : connect(socketPath);
  socket.on('error', () => undefined);
  socket.write(
    'POST /exec/default/web/main?command=sh&input=1&output=1 HTTP/1.1\r\nHost: node\r\nConnection: Upgrade\r\nUpgrade: SPDY/3.1\r\n\r\n',
  );
  return socket;
}

/** Opens one connection, on which both sides write until a side breaks. */
async function breakOne(way: Way, client: Break | undefined, runtimeSide: Break | undefined): Promise<void> {
  const chatter = (socket: Socket) => {
    const piece = Buffer.alloc(10_000);
    const more = () => {
      while (!socket.destroyed && socket.writable && socket.write(piece));
    };
    socket.on('drain', more);
    more();
  };
  serve = (socket) => {
    socket.resume().once('end', () => socket.end());
    if (runtimeSide !== undefined) breakAfter(socket, runtimeSide);
    chatter(socket);
  };
  const socket = await connectExec(way);
  // Not once(): an error is one of the ways to end.
  const closed = new Promise((resolve) => socket.once('close', resolve));
  await Promise.race([new Promise((resolve) => socket.once('readable', resolve)), closed]);
  if (client === undefined) socket.resume();
  else breakAfter(socket, client);
  chatter(socket);
  await closed;
}

test('a connection that breaks at any point leaves no connection open, and its end is published', async () => {
  // Including the sockets that Node.js and NATS keep for themselves.
  for (const way of ways) await breakOne(way, { after: 0, way: 'destroy' }, { after: 0, way: 'destroy' });
  await poll('the first connection has ended', () =>
    Promise.resolve((runtimes === 0 && node.api.streams === 0) || undefined),
  );
  const before = openSockets();
  node.events.length = 0;
  let made = 0;
  const sides = fc.oneof(
    fc.tuple(clients, fc.constant(undefined)),
    fc.tuple(fc.constant(undefined), runtimeSides),
    fc.tuple(clients, runtimeSides),
  );
  await fc.assert(
    fc.asyncProperty(fc.constantFrom(...ways), sides, async (way, [client, side]) => {
      made += 1;
      await breakOne(way, client, side);
      await poll('both sides have ended', () => {
        return Promise.resolve((runtimes === 0 && node.api.streams === 0) || undefined);
      });
    }),
    { numRuns: 20 },
  );
  await poll('all sockets are closed', () => Promise.resolve(openSockets() <= before || undefined));
  await node.untilEvents(() => node.events.filter(({ what }) => what === 'ended').length >= made);
  expect(node.events.filter(({ what }) => what === 'began').length).toBe(made);
});

test.each(ways)(
  'a slow client that sends keep-alives receives all that a runtime wrote before it ended (%s)',
  async (way) => {
    // More than Node.js reads ahead, and less than the kernel keeps for both sides.
    const output = Buffer.alloc(3_000_000);
    const ended = new Promise<void>((resolve) => {
      serve = (socket) => {
        socket.resume().end(output, () => {
          socket.destroy();
          resolve();
        });
      };
    });
    const socket = await connectExec(way);
    const keepAlive = () => new Promise((resolve) => socket.write('ping', resolve));
    await ended;
    for (let sent = 0; sent < 20; sent += 1) await keepAlive();
    let received = 0;
    const closed = new Promise((resolve) => socket.once('close', resolve));
    socket.on('data', (piece: Buffer) => {
      received += piece.length;
      if (received >= output.length) socket.end();
      else void keepAlive();
    });
    await closed;
    expect(received).toBeGreaterThanOrEqual(output.length);
    await poll('the connection has ended', () => Promise.resolve(node.api.streams === 0 || undefined));
  },
);
