// Commands and ports of containers: the bytes between a client and the runtime's streaming server.
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { poll } from '@kubus/harness';
import { compileStatic } from '@kubus/node-images';
import { createHash, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { type Server, createServer } from 'node:http';
import { type AddressInfo, Socket, connect } from 'node:net';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { connect as connectSecurely } from 'node:tls';
import { ApiNode, open, podNamed, runOf } from './api-node.ts';
import { get } from './client.ts';

const pod = podNamed('web');
let node: ApiNode;
let runtime: Server;
/** How clients connect. */
let way: 'HTTPS' | 'the socket' = 'HTTPS';
/** With it, streams over the node's own socket pass through the relay. */
let config: typeof open & { readonly socket: string; readonly streamRelay: string; readonly streamLingerMs: number };
/** The requests that have reached the runtime, and its connections. */
let requests: { method: string | undefined; url: string | undefined; headers: NodeJS.Dict<string | string[]> }[] = [];
const connections: Socket[] = [];
/** The unknown URLs that were requested from it. */
let refused: (string | undefined)[] = [];
/** How the runtime handles an accepted connection. */
let serve: (socket: Socket) => void;

beforeAll(async () => {
  runtime = createServer((request, response) => {
    refused.push(request.url);
    response.writeHead(404).end('unknown token');
  });
  runtime.on('upgrade', ({ method, url = '', headers }, socket, head) => {
    if (url.endsWith('unknown')) {
      refused.push(`${url}${head.toString()}`);
      socket.end('HTTP/1.1 404 Not Found\r\nContent-Length: 13\r\n\r\nunknown token');
      return;
    }
    requests.push({ method, url, headers });
    if (!(socket instanceof Socket)) throw new Error('not a socket');
    connections.push(socket);
    socket.on('error', () => undefined);
    socket.write(
      `HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: ${headers.upgrade ?? ''}\r\n\r\n`,
    );
    if (head.length > 0) socket.unshift(head);
    serve(socket);
  });
  runtime.listen(0, '127.0.0.1');
  await once(runtime, 'listening');
  node = await ApiNode.make();
  node.want('api', pod);
  node.runs(pod, [runOf('run', '')]);
  const relay = fileURLToPath(new URL('../relay/stream-relay.c', import.meta.url));
  config = {
    ...open,
    socket: join(node.folder, 'api.sock'),
    streamRelay: await compileStatic(relay, node.folder),
    // Longer than any test may take.
    streamLingerMs: 600_000,
  };
  await node.start(config);
});
afterAll(async () => {
  await node.remove();
  runtime.close();
});
beforeEach(() => {
  requests = [];
  refused = [];
  connections.length = 0;
  node.asked.length = 0;
  node.events.length = 0;
  node.streamingUrl = `http://127.0.0.1:${(runtime.address() as AddressInfo).port}/exec/token`;
  serve = (socket) => void socket.pipe(socket);
});
afterEach(() => {
  for (const socket of connections) socket.destroy();
});

const EXEC = '/exec/default/web/main?command=sh&command=-c&input=1&output=1&error=1';

function openSecurely(allowHalfOpen: boolean): Socket {
  // The types of Node.js lack this option.
  const options = { host: '127.0.0.1', port: node.api.ports.secure, rejectUnauthorized: false, allowHalfOpen };
  return connectSecurely({ ...options });
}

/** Connects and requests an upgrade; what follows the answer's head is left in the socket. */
async function upgrade(
  path: string,
  more: { method?: string; headers?: string[]; early?: Buffer; allowHalfOpen?: boolean; protocol?: string } = {},
): Promise<{ socket: Socket; head: string }> {
  const { method = 'POST', headers = [], early, allowHalfOpen = false, protocol = 'SPDY/3.1' } = more;
  const socket = way === 'HTTPS' ? openSecurely(allowHalfOpen) : connect({ path: config.socket, allowHalfOpen });
  socket.on('error', () => undefined);
  await once(socket, way === 'HTTPS' ? 'secureConnect' : 'connect');
  const lines = [`${method} ${path} HTTP/1.1`, 'Host: node', 'Connection: Upgrade', `Upgrade: ${protocol}`, ...headers];
  socket.write(`${lines.join('\r\n')}\r\n\r\n`);
  if (early !== undefined) socket.write(early);
  let head = '';
  while (!head.includes('\r\n\r\n')) {
    await once(socket, 'readable');
    for (let byte = socket.read(1) as Buffer | null; byte !== null; byte = socket.read(1) as Buffer | null) {
      head += byte.toString('latin1');
      if (head.endsWith('\r\n\r\n')) break;
    }
  }
  return { socket, head };
}

/** The running relays. */
async function relays(): Promise<number[]> {
  const children = await readFile(`/proc/self/task/${process.pid}/children`, 'utf8');
  const pids = children.split(' ').filter((pid) => pid !== '');
  const names = await Promise.all(pids.map((pid) => readFile(`/proc/${pid}/comm`, 'utf8').catch(() => '')));
  return pids.filter((_, index) => names[index]?.startsWith('stream-relay')).map(Number);
}

const untilEnded = () => node.untilEvents(() => node.events.some(({ what }) => what === 'ended'));

describe.each([
  ['HTTPS', 'system:anonymous'],
  ['the socket', 'system:node-admin'],
] as const)('a command over %s', (over, user) => {
  beforeEach(() => {
    way = over;
  });
  afterEach(() => {
    way = 'HTTPS';
  });

  test('is prepared by the runtime and connected with the client', async () => {
    const headers = ['X-Stream-Protocol-Version: v5.channel.k8s.io', 'X-Stream-Protocol-Version: v4.channel.k8s.io'];
    const { socket, head } = await upgrade(EXEC, {
      headers: [...headers, 'Authorization: Bearer secret'],
      allowHalfOpen: true,
    });
    expect(head).toContain('101 Switching Protocols');
    expect(node.asked).toEqual([
      ['Exec', { containerId: 'run', cmd: ['sh', '-c'], stdin: true, stdout: true, stderr: true, tty: false }],
    ]);
    expect(requests).toEqual([
      {
        method: 'POST',
        url: '/exec/token',
        headers: {
          host: expect.stringContaining('127.0.0.1') as unknown as string,
          connection: 'Upgrade',
          'content-length': '0',
          upgrade: 'SPDY/3.1',
          'x-stream-protocol-version': 'v5.channel.k8s.io, v4.channel.k8s.io',
        },
      },
    ]);
    socket.end('bye');
    expect((await buffer(socket)).toString()).toBe('bye');
    await untilEnded();
    expect(node.events).toMatchObject([
      { what: 'began', kind: 'exec', container: 'main', user },
      { what: 'ended', kind: 'exec' },
    ]);
  });

  test('transfers random bytes exactly in both directions, including those sent with the request', async () => {
    const [sent, echoed] = [createHash('sha256'), createHash('sha256')];
    const early = randomBytes(1000);
    const { socket } = await upgrade(EXEC, { early, allowHalfOpen: true });
    sent.update(early);
    const back = buffer(socket);
    for (let index = 0; index < 200; index += 1) {
      const bytes = randomBytes(1 + ((index * 7919) % 100_000));
      sent.update(bytes);
      if (!socket.write(bytes)) await once(socket, 'drain');
    }
    socket.end();
    echoed.update(await back);
    expect(echoed.digest('hex')).toBe(sent.digest('hex'));
  });

  test('continues in one direction when the other one has ended', async () => {
    serve = (socket) => {
      void buffer(socket).then((all) => socket.end(`${all.length} bytes`));
    };
    const { socket } = await upgrade(EXEC, { allowHalfOpen: true });
    socket.end(Buffer.alloc(300_000));
    expect((await buffer(socket)).toString()).toBe('300000 bytes');
  });

  test('is not read ahead for a client that does not read', async () => {
    const piece = Buffer.alloc(64 * 1024);
    let written = 0;
    serve = (socket) => {
      const more = () => {
        while (socket.write(piece)) written += piece.length;
        written += piece.length;
        socket.once('drain', more);
      };
      more();
    };
    const { socket } = await upgrade(EXEC);
    socket.pause();
    // Nothing moves any more once another connection has transferred all its bytes meanwhile.
    serve = (other) => void other.pipe(other);
    let before: number;
    do {
      before = written;
      const { socket: other } = await upgrade(EXEC, { allowHalfOpen: true });
      other.end(randomBytes(4 * 1024 * 1024));
      expect(await buffer(other)).toHaveLength(4 * 1024 * 1024);
    } while (written > before);
    expect(written).toBeLessThan(32 * 1024 * 1024);
    socket.destroy();
  });

  test('ends with the runtime, and what the client still sends does not lose any output', async () => {
    const all = randomBytes(1_000_000);
    serve = (socket) => socket.end(all);
    const { socket } = await upgrade(EXEC, { allowHalfOpen: true });
    const chunks: Buffer[] = [];
    let missing = all.length;
    socket.on('data', (chunk: Buffer) => {
      chunks.push(chunk);
      missing -= chunk.length;
      if (missing === 0) socket.end('more');
    });
    socket.write(Buffer.alloc(1_000_000));
    await once(socket, 'end');
    await untilEnded();
    expect(Buffer.concat(chunks).equals(all)).toBe(true);
  });

  test('is not ended before a client of SPDY has read everything, however slow it is', async () => {
    const all = randomBytes(1_000_000);
    serve = (socket) => socket.end(all);
    const { socket } = await upgrade(EXEC, { allowHalfOpen: true });
    socket.pause();
    // Once another command has ended, the node has had the time to end this one.
    const { socket: other } = await upgrade(EXEC, { allowHalfOpen: true });
    other.on('data', () => undefined).end();
    await untilEnded();
    await poll('the other stream is over', () => Promise.resolve(node.api.streams === 1 || undefined));
    const chunks: Buffer[] = [];
    let ended = false;
    socket.on('data', (chunk: Buffer) => chunks.push(chunk)).once('end', () => (ended = true));
    socket.resume();
    await poll('everything is there', () => {
      return Promise.resolve(Buffer.concat(chunks).equals(all) || undefined);
    });
    expect(ended).toBe(false);
    socket.end();
    await poll('no stream is open', () => Promise.resolve(node.api.streams === 0 || undefined));
  });

  test('ends the connection of a client that does not', async () => {
    await node.start({ ...config, streamLingerMs: 50 });
    serve = (socket) => socket.end('bye');
    const { socket } = await upgrade(EXEC, { allowHalfOpen: true });
    expect((await buffer(socket)).toString()).toBe('bye');
    await untilEnded();
    await node.start(config);
  });

  test('ends a WebSocket at once, whose client waits for that', async () => {
    serve = (socket) => socket.end('bye');
    const { socket } = await upgrade(EXEC, { protocol: 'websocket', allowHalfOpen: true });
    expect((await buffer(socket)).toString()).toBe('bye');
    socket.end('more');
    await untilEnded();
    expect(node.events.at(-1)?.error).toBeUndefined();
  });

  test('is refused with the runtime’s answer, and bytes sent with the request do not reach the runtime', async () => {
    node.streamingUrl = `${node.streamingUrl}-unknown`;
    const { socket, head } = await upgrade('/exec/default/web/main?command=ls&output=1', {
      early: Buffer.from('GET /exec/other-token HTTP/1.1\r\nHost: x\r\n\r\n'),
    });
    expect(head).toMatch(/^HTTP\/1.1 404 /);
    expect((await buffer(socket)).toString()).toBe('unknown token');
    expect(refused).toEqual(['/exec/token-unknown']);
    expect(node.api.streams).toBe(0);
  });

  test.each([
    ['the client', (client: Socket) => client.destroy()],
    ['the runtime', () => connections[0]?.resetAndDestroy()],
  ])('ends on both sides when %s disconnects', async (_, leave) => {
    const { socket } = await upgrade(EXEC);
    const [runtimes = new Socket()] = connections;
    const closed = Promise.all([once(socket.resume(), 'close'), once(runtimes, 'close')]);
    leave(socket);
    await closed;
    await untilEnded();
    await poll('no stream is open', () => Promise.resolve(node.api.streams === 0 || undefined));
  });

  test('ends after the idle timeout', async () => {
    await node.start({ ...config, streamIdleMs: 50 });
    const { socket } = await upgrade(EXEC);
    await once(socket.resume(), 'close');
    await untilEnded();
    await node.start(config);
  });

  test('ends with the service', async () => {
    const { socket } = await upgrade(EXEC);
    const closed = once(socket.resume(), 'close');
    await node.start(config);
    await closed;
  });
});

describe('the relay of a connection', () => {
  beforeEach(() => {
    way = 'the socket';
  });
  afterEach(() => {
    way = 'HTTPS';
  });

  test('reports the transferred bytes, and ends', async () => {
    const { socket } = await upgrade(EXEC, { allowHalfOpen: true });
    expect(await relays()).toHaveLength(1);
    socket.end(Buffer.alloc(100_000));
    await buffer(socket);
    await untilEnded();
    const [, ended] = node.events;
    expect(ended).toMatchObject({ what: 'ended', received: 100_000 });
    // Including the answer to the upgrade.
    expect(ended?.bytes).toBeGreaterThan(100_000);
    expect(await relays()).toEqual([]);
  });

  test('ends both sides when it is killed', async () => {
    const { socket } = await upgrade(EXEC);
    const [runtimes = new Socket()] = connections;
    const closed = Promise.all([once(socket.resume(), 'close'), once(runtimes, 'close')]);
    for (const pid of await relays()) process.kill(pid, 'SIGKILL');
    await closed;
    await untilEnded();
    expect(node.events.at(-1)?.error).toContain('relay');
  });

  test('that cannot be started ends both sides, and the next connection tries again', async () => {
    await node.start({ ...config, streamRelay: join(node.folder, 'none') });
    for (const times of [1, 2]) {
      const socket = connect(config.socket);
      socket.write('GET /exec/default/web/main?command=sh&output=1 HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\n');
      socket.write('Upgrade: SPDY/3.1\r\n\r\n');
      await once(socket.resume(), 'close');
      await node.untilEvents(() => node.events.filter(({ error }) => error !== undefined).length === times);
    }
    await node.start(config);
  });
});

describe('a refused stream', () => {
  test.each([
    ['/exec/default/web/main?command=ls', 400, 'you must specify at least 1 of stdin, stdout, stderr'],
    ['/exec/default/web/other?command=ls&output=1', 500, 'container not found ("other")'],
    ['/exec/default/none/main?command=ls&output=1', 404, 'pod does not exist'],
    ['/exec/default/web/other-uid/main?command=ls&output=1', 404, 'pod does not exist'],
    ['/portForward/default/web?port=0', 400, 'unable to parse ports "0"'],
  ])('%s is answered with %d', async (path, status, text) => {
    for (const answer of [await upgrade(path), { head: `${(await get(node.api.ports.secure, path)).status}` }]) {
      expect(answer.head).toContain(String(status));
    }
    expect((await get(node.api.ports.secure, path)).text).toBe(text);
    expect(requests).toEqual([]);
  });

  test('is refused in an ordinary answer, after which the connection ends', async () => {
    const { socket, head } = await upgrade('/exec/default/none/main?command=ls&output=1');
    expect(head).toMatch(/^HTTP\/1.1 404 Not Found\r\n/);
    expect((await buffer(socket)).toString()).toBe('pod does not exist');
  });

  test('without an upgrade is a bad request, and makes no address in the runtime', async () => {
    expect(await get(node.api.ports.secure, EXEC)).toMatchObject({ status: 400, text: 'Upgrade request required' });
    expect(await get(node.api.ports.secure, EXEC, { method: 'PUT' })).toMatchObject({ status: 405 });
    expect(node.asked).toEqual([]);
  });

  test('for a container that the runtime does not know is not a server error', async () => {
    node.streamingUrl = undefined;
    expect((await upgrade(EXEC)).head).toMatch(/^HTTP\/1.1 404 /);
  });

  test('with an unreachable streaming server is a bad gateway', async () => {
    node.streamingUrl = 'http://127.0.0.1:1/exec/token';
    const { head } = await upgrade(EXEC);
    expect(head).toMatch(/^HTTP\/1.1 502 /);
    expect(node.api.streams).toBe(0);
  });

  test('without credentials is refused, and the runtime is not called', async () => {
    await node.start({ ...config, authentication: { ...open.authentication, anonymous: false } });
    const { socket, head } = await upgrade(EXEC);
    expect(head).toMatch(/^HTTP\/1.1 401 /);
    expect((await buffer(socket)).toString()).toBe('Unauthorized');
    expect(node.asked).toEqual([]);
    await node.start(config);
  });
});

test('a terminal has no stderr, and attach and port forwarding have calls of their own', async () => {
  const paths = [
    '/attach/default/web/uid-web/main?input=1&output=1&error=1&tty=1',
    '/portForward/default/web?port=80,443',
  ];
  for (const path of paths) (await upgrade(path, { method: 'GET' })).socket.destroy();
  expect(node.asked).toEqual([
    ['Attach', { containerId: 'run', stdin: true, stdout: true, stderr: false, tty: true }],
    ['PortForward', { podSandboxId: 'sandbox', port: [80, 443] }],
  ]);
});
