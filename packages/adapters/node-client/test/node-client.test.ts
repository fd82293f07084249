// The client against test servers on unix sockets.
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { type IncomingMessage, type Server, createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { ForwardedPort, NodeClient, RemoteCommand, apiPath, connectedQuery } from '../src/index.ts';

let folder: string;
let server: Server;
let client: NodeClient;
/** The received upgrade requests. */
let asked: IncomingMessage[];

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'kubus-node-client-'));
  const path = join(folder, 'api.sock');
  asked = [];
  server = createServer((request, response) => {
    if (request.url === '/long') {
      response.writeHead(200).write('so far');
      response.once('finish', () => undefined);
      setImmediate(() => response.destroy());
    } else if (request.url === '/pods') response.end('{}');
    else
      response
        .writeHead(request.url === '/empty' ? 500 : 404)
        .end(request.url === '/empty' ? '' : 'pod does not exist\n');
  });
  server.listen(path);
  await once(server, 'listening');
  client = new NodeClient(path);
});
afterEach(async () => {
  server.closeAllConnections();
  server.close();
  await rm(folder, { recursive: true, force: true });
});

/** From now on the server accepts every upgrade with this protocol, and then sends the scripted frames. */
function upgrading(protocol: string, bytes = ''): void {
  server.on('upgrade', (request, socket) => {
    asked.push(request);
    socket.on('error', () => undefined);
    const head = ['HTTP/1.1 101 Switching Protocols', 'Connection: Upgrade', 'Upgrade: SPDY/3.1'];
    socket.end(`${[...head, `X-Stream-Protocol-Version: ${protocol}`].join('\r\n')}\r\n\r\n${bytes}`);
  });
}

test.each([
  [['pods'], [], '/pods'],
  [['containerLogs', 'a b', 'ü/..', '%2e'], [], '/containerLogs/a%20b/%C3%BC%2F../%252e'],
  [
    ['exec'],
    [
      ['command', 'sh'],
      ['command', '-c'],
      ['command', 'a&b=c +'],
    ],
    '/exec?command=sh&command=-c&command=a%26b%3Dc+%2B',
  ],
] as const)('the path of %j with %j', (parts, query, path) => {
  expect(apiPath(parts, query)).toBe(path);
});

test.each([
  [
    { stdin: false, tty: false },
    [
      ['output', '1'],
      ['error', '1'],
    ],
  ],
  [
    { stdin: true, tty: false },
    [
      ['input', '1'],
      ['output', '1'],
      ['error', '1'],
    ],
  ],
  [
    { stdin: true, tty: true },
    [
      ['input', '1'],
      ['output', '1'],
      ['tty', '1'],
    ],
  ],
])('%j is requested', (connected, query) => {
  expect(connectedQuery(connected)).toEqual(query);
});

describe('a JSON document', () => {
  test('is read', async () => {
    expect(await client.get('/pods')).toBe('{}');
  });

  test.each([
    ['/nothing', 404, 'pod does not exist'],
    ['/empty', 500, 'the node’s API answers 500'],
  ])('%s is refused with %d', async (path, status, message) => {
    await expect(client.get(path)).rejects.toMatchObject({ code: 'refused', message, context: { status } });
  });

  test('that is cut off is an error', async () => {
    await expect(client.begin('/long').then((answer) => text(answer))).rejects.toThrow('aborted');
  });

  test('of a node that is not running is an error with a hint', async () => {
    const gone = new NodeClient(join(folder, 'none.sock'));
    const error = { code: 'not-running', message: expect.stringContaining('start it with ./kubus up') as unknown };
    await expect(gone.get('/pods')).rejects.toMatchObject(error);
    await expect(gone.upgrade('/exec', 'v4.channel.k8s.io')).rejects.toMatchObject(error);
  });
});

describe('streams', () => {
  test('that are refused fail with the cause', async () => {
    const open = ForwardedPort.open(client, { namespace: 'default', name: 'gone' }, 80);
    await expect(open).rejects.toMatchObject({
      code: 'refused',
      message: 'pod does not exist',
      context: { status: 404 },
    });
  });

  test('of another protocol are refused', async () => {
    upgrading('v1.channel.k8s.io');
    await expect(client.upgrade('/exec', 'v4.channel.k8s.io')).rejects.toThrow('the runtime has no v4.channel.k8s.io');
  });

  test('of a command that is cut off end without an exit status', async () => {
    upgrading('v4.channel.k8s.io');
    const command = await RemoteCommand.open(client, '/exec/default/web/main', { stdin: true, tty: false });
    expect(asked[0]).toMatchObject({
      method: 'POST',
      url: '/exec/default/web/main',
      headers: { upgrade: 'SPDY/3.1', 'x-stream-protocol-version': 'v4.channel.k8s.io' },
    });
    expect(await text(command.stdout)).toBe('');
    expect(command.stdout.cut).toBe(true);
    await expect(command.outcome()).rejects.toThrow('its exit status was not reported');
    await command.close();
  });
});
