import { once } from 'node:events';
import { type IncomingMessage, type ServerResponse, request } from 'node:http';
import { type Server, createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { Authority } from '@kubus/certificates';
import { TestApiServer } from '../src/index.ts';

/** The HTTPS server of a node. */
let kubelet: Server;
let server: TestApiServer;

beforeEach(async () => {
  const authority = await Authority.create();
  const serving = await authority.issue({ commonName: 'node', addresses: ['127.0.0.1'] }, 'server');
  kubelet = createServer({ cert: serving.certificate, key: serving.key });
  await once(kubelet.listen(0, '127.0.0.1'), 'listening');
  const { port } = kubelet.address() as AddressInfo;
  server = await TestApiServer.start({
    plain: true,
    kubelet: async () => Promise.resolve({ host: '127.0.0.1', port }),
  });
  server.create({ apiVersion: 'v1', kind: 'Node', metadata: { name: 'n' } });
  server.create({
    ...{ apiVersion: 'v1', kind: 'Pod', metadata: { name: 'p', namespace: 'default' } },
    spec: { nodeName: 'n', containers: [{ name: 'c', image: 'i' }] },
  });
});

afterEach(async () => {
  kubelet.close();
  await server.close();
});

// A WebSocket begins with GET, SPDY with POST.
test.each(['GET', 'POST'])('a stream that begins with %s reaches the node with it', async (method) => {
  const reached = once(kubelet, 'upgrade') as Promise<[{ method?: string; url?: string }, { end: () => void }]>;
  const asked = request(`${server.url}/api/v1/namespaces/default/pods/p/exec?command=id&stdout=True&tty=False`, {
    method,
    headers: {
      authorization: `Bearer ${server.identities.token({ username: 'a', groups: [] })}`,
      connection: 'Upgrade',
      upgrade: 'websocket',
    },
  });
  asked.on('error', () => {
    // The node ends it.
  });
  asked.end();
  const [arrived, socket] = await reached;
  expect(arrived).toMatchObject({ method, url: '/exec/default/p/c?command=id&output=1' });
  socket.end();
  asked.destroy();
});

/** What a client reads of a log, message by message, and the end of the connection. */
async function logOf(protocols: string[], container = 'c'): Promise<{ read: string[]; code: number }> {
  const token = server.identities.token({ username: 'a', groups: [] });
  const url = `${server.url}/api/v1/namespaces/default/pods/p/log?follow=true&container=${container}`;
  const client = new WebSocket(url.replace('http', 'ws'), { protocols, headers: { authorization: `Bearer ${token}` } });
  client.binaryType = 'arraybuffer';
  const read: string[] = [];
  client.addEventListener('message', ({ data }) => {
    read.push(typeof data === 'string' ? data : Buffer.from(data as ArrayBuffer).toString());
  });
  const [{ code }] = (await once(client, 'close')) as [CloseEvent];
  return { read, code };
}

test('the log of a pod comes by WebSocket, an empty message first', async () => {
  const asked: string[] = [];
  kubelet.on('request', ({ url = '' }: IncomingMessage, response: ServerResponse) => {
    asked.push(url);
    response.writeHead(200).end('a line\n');
  });
  expect(await logOf(['binary.k8s.io'])).toEqual({ read: ['', 'a line\n'], code: 1005 });
  expect(await logOf(['x', 'base64.binary.k8s.io'])).toEqual({ read: ['', 'YSBsaW5lCg=='], code: 1005 });
  expect(await logOf([])).toEqual({ read: ['', 'a line\n'], code: 1005 });
  expect(asked).toEqual(Array.from({ length: 3 }, () => '/containerLogs/default/p/c?follow=true'));
  // Refused before there is a WebSocket.
  expect(await logOf(['v4.channel.k8s.io'])).toEqual({ read: [], code: 1006 });
  expect(await logOf([], 'other')).toEqual({ read: [], code: 1006 });
});

test('the node stops sending the log to a client that has closed', async () => {
  const reached = once(kubelet, 'request') as Promise<[IncomingMessage, ServerResponse]>;
  const token = server.identities.token({ username: 'a', groups: [] });
  const url = `${server.url.replace('http', 'ws')}/api/v1/namespaces/default/pods/p/log?follow=true`;
  const client = new WebSocket(url, { headers: { authorization: `Bearer ${token}` } });
  const [, response] = await reached;
  response.write('a line\n');
  await once(client, 'message');
  client.close();
  await once(response, 'close');
});
