import { afterEach, expect, test } from '@jest/globals';
import { zoneOf } from '@kubus/cluster-dns';
import { decode, encode } from 'dns-packet';
import { type Socket, createSocket } from 'node:dgram';
import { once } from 'node:events';
import { type AddressInfo, connect, createServer } from 'node:net';
import { DnsServer } from '../src/index.ts';

const metadata = { name: 'web', namespace: 'team', uid: 'u', resourceVersion: '1', creationTimestamp: '' };
const addresses = Array.from({ length: 60 }, (_, index) => `10.88.0.${index + 2}`);
const zone = zoneOf('cluster.local', {
  services: [
    { apiVersion: 'v1', kind: 'Service', metadata, spec: { clusterIPs: ['None'] } },
    {
      ...{ apiVersion: 'v1', kind: 'Service', metadata: { ...metadata, name: 'out' } },
      spec: { type: 'ExternalName', externalName: 'example.org' },
    },
  ],
  slices: [
    {
      ...{ apiVersion: 'discovery.k8s.io/v1', kind: 'EndpointSlice', addressType: 'IPv4', endpoints: [{ addresses }] },
      metadata: { ...metadata, labels: { 'kubernetes.io/service-name': 'web' } },
    },
  ],
  pods: [],
});
const WEB = 'web.team.svc.cluster.local';

const ends: (() => void)[] = [];
afterEach(() => {
  for (const end of ends.splice(0)) end();
});

/** A resolver of the machine, over UDP and TCP; it answers `example.org`, and nothing that is called `silent`. Both have the same port. */
async function resolver() {
  const asked: Buffer[] = [];
  const answer = (question: Buffer) => {
    const { id = 0, questions = [] } = decode(question);
    asked.push(question);
    const name = questions[0]?.name ?? '';
    const known = name === 'example.org';
    return encode({
      ...{ id, type: 'response', questions, flags: known ? 0 : 3 },
      answers: known ? [{ type: 'A', name, ttl: 60, data: '203.0.113.9' }] : [],
    });
  };
  const tcp = createServer((connection) => {
    connection.on('error', () => undefined);
    connection.on('data', (part) => {
      const whole = answer(part.subarray(2));
      const length = Buffer.alloc(2);
      length.writeUInt16BE(whole.length);
      connection.write(Buffer.concat([length, whole]));
    });
  }).listen(0, '127.0.0.1');
  await once(tcp, 'listening');
  const { port } = tcp.address() as AddressInfo;
  const udp = createSocket('udp4');
  udp.on('message', (question, from) => {
    if (decode(question).questions?.[0]?.name !== 'silent') udp.send(answer(question), from.port, from.address);
  });
  udp.bind(port, '127.0.0.1');
  await once(udp, 'listening');
  ends.push(
    () => void tcp.close(),
    () => void udp.close(),
  );
  return { port, asked };
}

async function serve(port: number, resolvers: readonly string[] = ['127.0.0.1']) {
  const errors: Error[] = [];
  const options = { zone: () => zone, resolvers: () => Promise.resolve(resolvers), resolverPort: port };
  const server = new DnsServer({ ...options, onError: (error) => errors.push(error) });
  ends.push(() => server.close());
  // The resolver has its loopback address, so that the two are told apart.
  return { port: await server.listen('127.0.0.2', 0), errors };
}

const query = (name: string, more: object = {}) =>
  encode({ id: 4711, type: 'query', flags: 256, questions: [{ type: 'A', name }], ...more });

async function client(): Promise<Socket> {
  const socket = createSocket('udp4');
  socket.bind(0, '127.0.0.3');
  await once(socket, 'listening');
  ends.push(() => void socket.close());
  return socket;
}

async function overUdp(port: number, message: Buffer): Promise<Buffer> {
  const socket = await client();
  socket.send(message, port, '127.0.0.2');
  const [answer] = (await once(socket, 'message')) as [Buffer];
  return answer;
}

async function overTcp(port: number, message: Buffer): Promise<Buffer> {
  const connection = connect({ port, host: '127.0.0.2' });
  ends.push(() => void connection.destroy());
  const length = Buffer.alloc(2);
  length.writeUInt16BE(message.length);
  connection.write(Buffer.concat([length, message]));
  let received = Buffer.alloc(0);
  for await (const part of connection) {
    received = Buffer.concat([received, part as Buffer]);
    if (received.length >= 2 && received.length >= 2 + received.readUInt16BE(0)) break;
  }
  return received.subarray(2);
}

const codeOf = (answer: Buffer) => (answer[3] ?? 0) & 15;

test('names of the node are answered over UDP as far as they fit, and over TCP all', async () => {
  const { port } = await serve((await resolver()).port);
  const short = await overUdp(port, query(WEB));
  expect(short.length).toBeLessThanOrEqual(512);
  expect(decode(short)).toMatchObject({ id: 4711, type: 'response', flag_tc: true, flag_aa: true });
  const edns = { additionals: [{ type: 'OPT', name: '.', udpPayloadSize: 4096, flags: 0, options: [] }] };
  const longer = await overUdp(port, query(WEB, edns));
  expect(longer.length).toBeGreaterThan(512);
  expect(longer.length).toBeLessThanOrEqual(1232);
  const whole = decode(await overTcp(port, query(WEB)));
  const found = (whole.answers ?? []).flatMap((record) => (record.type === 'A' ? [record.data] : []));
  expect(found.toSorted()).toEqual(addresses.toSorted());
  expect(whole).toMatchObject({ flag_tc: false });
});

test('what does not exist is said to, and for how long', async () => {
  const { port } = await serve((await resolver()).port);
  const answer = await overUdp(port, query('no.team.svc.cluster.local'));
  expect(codeOf(answer)).toBe(3);
  expect(decode(answer).authorities).toMatchObject([{ type: 'SOA', name: 'cluster.local', data: { minimum: 5 } }]);
});

test('other questions go on as they came, over the transport that they came with', async () => {
  const machine = await resolver();
  const { port, errors } = await serve(machine.port);
  const asked = query('example.org', { flags: 256 | 16 });
  for (const ask of [overUdp, overTcp]) {
    expect(decode(await ask(port, asked)).answers).toMatchObject([{ type: 'A', data: '203.0.113.9' }]);
  }
  expect(machine.asked).toEqual([asked, asked]);
  expect(codeOf(await overUdp(port, query('unknown.org')))).toBe(3);
  expect(errors).toEqual([]);
});

test('an external name is followed to its addresses', async () => {
  const { port } = await serve((await resolver()).port);
  expect(decode(await overUdp(port, query('out.team.svc.cluster.local'))).answers).toMatchObject([
    { type: 'CNAME', data: 'example.org' },
    { type: 'A', name: 'example.org', data: '203.0.113.9' },
  ]);
});

test('without a resolver the answer is SERVFAIL, and names of the node are answered', async () => {
  const { port } = await serve((await resolver()).port, []);
  expect(codeOf(await overUdp(port, query('example.org')))).toBe(2);
  expect(codeOf(await overUdp(port, query('out.team.svc.cluster.local')))).toBe(2);
  expect(codeOf(await overUdp(port, query(WEB)))).toBe(0);
});

test('one client has 64 questions that wait, and others are served meanwhile', async () => {
  const { port } = await serve((await resolver()).port);
  const greedy = await client();
  const refused = once(greedy, 'message') as Promise<[Buffer]>;
  for (let id = 0; id <= 64; id += 1) greedy.send(query('silent', { id }), port, '127.0.0.2');
  const [answer] = await refused;
  expect([codeOf(answer), answer.length]).toEqual([2, 12]);
  const other = createSocket('udp4');
  ends.push(() => void other.close());
  other.send(query('example.org'), port, '127.0.0.2');
  const [served] = (await once(other, 'message')) as [Buffer];
  expect(decode(served).answers).toHaveLength(1);
});

test('one client has 16 connections, and the next one is closed', async () => {
  const { port } = await serve((await resolver()).port);
  const open = async (localAddress: string) => {
    const connection = connect({ port, host: '127.0.0.2', localAddress });
    connection.on('error', () => undefined);
    ends.push(() => void connection.destroy());
    await once(connection, 'connect');
    return connection;
  };
  for (let count = 0; count < 16; count += 1) await open('127.0.0.4');
  const refused = await open('127.0.0.4');
  if (!refused.closed) await once(refused, 'close');
  expect(decode(await overTcp(port, query(WEB))).answers).toHaveLength(60);
});

test('what is no question is refused or gets no answer, and the server goes on', async () => {
  const { port, errors } = await serve((await resolver()).port);
  const socket = await client();
  // None of these is answered: too short, and an answer.
  socket.send(Buffer.from('x'), port, '127.0.0.2');
  socket.send(encode({ id: 1, type: 'response', questions: [{ type: 'A', name: WEB }] }), port, '127.0.0.2');
  const update = query(WEB);
  update[2] = 5 << 3;
  expect(codeOf(await overUdp(port, update))).toBe(4);
  expect(codeOf(await overUdp(port, query(WEB).subarray(0, 20)))).toBe(1);
  expect(codeOf(await overUdp(port, encode({ type: 'query', questions: [] })))).toBe(1);
  expect(codeOf(await overUdp(port, Buffer.concat([query('example.org'), Buffer.alloc(5_000)])))).toBe(1);
  const endless = connect({ port, host: '127.0.0.2' });
  endless.write(Buffer.from([0xff, 0xff, 0]));
  await once(endless, 'close');
  expect(decode(await overUdp(port, query(WEB))).answers).not.toHaveLength(0);
  expect(errors).toEqual([]);
});
