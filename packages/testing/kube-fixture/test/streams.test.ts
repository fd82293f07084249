import { once } from 'node:events';
import { createServer, request } from 'node:https';
import type { AddressInfo } from 'node:net';
import { expect, test } from '@jest/globals';
import { Authority } from '@kubus/certificates';
import { TestApiServer } from '../src/index.ts';

// A WebSocket begins with GET, SPDY with POST.
test.each(['GET', 'POST'])('a stream that begins with %s reaches the node with it', async (method) => {
  const authority = await Authority.create();
  const serving = await authority.issue({ commonName: 'node', addresses: ['127.0.0.1'] }, 'server');
  const kubelet = createServer({ cert: serving.certificate, key: serving.key });
  await once(kubelet.listen(0, '127.0.0.1'), 'listening');
  const { port } = kubelet.address() as AddressInfo;
  const server = await TestApiServer.start({ kubelet: async () => Promise.resolve({ host: '127.0.0.1', port }) });
  server.create({ apiVersion: 'v1', kind: 'Node', metadata: { name: 'n' } });
  server.create({
    ...{ apiVersion: 'v1', kind: 'Pod', metadata: { name: 'p', namespace: 'default' } },
    spec: { nodeName: 'n', containers: [{ name: 'c', image: 'i' }] },
  });
  const reached = once(kubelet, 'upgrade') as Promise<[{ method?: string; url?: string }, { end: () => void }]>;
  const asked = request(`${server.url}/api/v1/namespaces/default/pods/p/exec?command=id&stdout=True&tty=False`, {
    ...{ method, rejectUnauthorized: false },
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
  kubelet.close();
  await server.close();
});
