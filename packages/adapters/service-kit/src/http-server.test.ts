// What one client may cost a server, whatever its routes are.
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { once } from 'node:events';
import type { Server } from 'node:http';
import { type AddressInfo, type Socket, connect } from 'node:net';
import { httpLimits, httpServer } from './http-server.ts';

let server: Server;
let port: number;

beforeEach(async () => {
  const times = { headersTimeout: 60, requestTimeout: 120, keepAliveTimeout: 60, connectionsCheckingInterval: 10 };
  server = httpServer((request, response) => request.resume().once('end', () => response.end()), {
    ...httpLimits,
    ...times,
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  ({ port } = server.address() as AddressInfo);
});
afterEach(async () => {
  const closed = once(server, 'close');
  server.close();
  server.closeAllConnections();
  await closed;
});

/** What the server answers until it ends the connection. */
async function answerTo(text: string): Promise<string> {
  const socket: Socket = connect(port, '127.0.0.1');
  let answer = '';
  socket.on('error', () => undefined).on('data', (chunk: Buffer) => (answer += chunk.toString()));
  socket.write(text);
  await once(socket, 'close');
  return answer;
}

describe('the server ends a connection', () => {
  test.each([
    ['that sends nothing', '', 408],
    ['whose header does not end', 'GET / HTTP/1.1\r\nHost: node\r\n', 408],
    ['whose body does not end', 'POST / HTTP/1.1\r\nHost: node\r\nContent-Length: 10\r\n\r\n1', 408],
    ['with a header of more than 16 KiB', `GET / HTTP/1.1\r\nHost: node\r\nX: ${'a'.repeat(17_000)}\r\n\r\n`, 431],
    ['with a URL of more than 16 KiB', `GET /?${'a&'.repeat(8_500)} HTTP/1.1\r\nHost: node\r\n\r\n`, 431],
    ['that is idle after an answer', 'GET / HTTP/1.1\r\nHost: node\r\n\r\n', 200],
  ])('%s', async (_, text, status) => {
    expect(await answerTo(text)).toMatch(new RegExp(`^HTTP/1.1 ${status} `));
  });
});
