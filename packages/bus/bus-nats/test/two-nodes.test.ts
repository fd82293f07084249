// What a node that was taken over can do to another one of the same NATS server.
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { serviceContracts } from '@kubus/contracts';
import type { NatsConnection } from '@nats-io/nats-core';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  STREAMS,
  connectNats,
  createIdentity,
  defaultRecordLimits,
  ensureStreams,
  permissionsOf,
  serverConfig,
} from '../src/index.ts';
import { bucketStream, recordStream, storeSubject } from '../src/names.ts';

const services = ['launcher', 'pod-workers', 'cri-bridge'] as const;
const nodes = ['victim', 'hostile'].map((node) => ({
  node,
  identities: ([...services, STREAMS] as const).map((service) => createIdentity({ service, instance: `${service}-0` })),
}));

let folder: string;
let server: ChildProcess;
let url: string;
const open: NatsConnection[] = [];

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'kubus-two-nodes-'));
  const config = serverConfig({
    host: '127.0.0.1',
    port: -1,
    storeDir: join(folder, 'js'),
    serverName: 'both',
    nodes: nodes.map(({ node, identities }) => ({
      node,
      users: identities.map((identity) => ({ identity, permissions: permissionsOf(identity, node, serviceContracts) })),
    })),
  });
  await writeFile(join(folder, 'nats.conf'), config);
  server = spawn('nats-server', ['-c', join(folder, 'nats.conf')], { stdio: ['ignore', 'ignore', 'pipe'] });
  const { promise, resolve, reject } = Promise.withResolvers<string>();
  let log = '';
  server.stderr?.on('data', (data: Buffer) => {
    log += data.toString();
    const port = /Listening for client connections on \S+:(\d+)/.exec(log)?.[1];
    if (port !== undefined && log.includes('Server is ready')) resolve(port);
  });
  server.once('exit', () => reject(new Error(`nats-server ended: ${log}`)));
  url = `nats://127.0.0.1:${await promise}`;
  for (const { node } of nodes) await ensureStreams(await connect(node, 'streams-0'), node, defaultRecordLimits);
});
afterAll(async () => {
  await Promise.all(open.map((one) => one.close()));
  const ended = once(server, 'exit');
  server.kill('SIGKILL');
  await ended;
  await rm(folder, { recursive: true });
});

async function connect(node: string, instance: string): Promise<NatsConnection> {
  const identities = nodes.find((one) => one.node === node)?.identities;
  const seed = identities?.find((one) => one.instance === instance)?.seed ?? '';
  const made = await connectNats({ servers: url, instance, seed, once: true });
  open.push(made);
  return made;
}

const stored = async (streams: NatsConnection) => {
  const info = await streams.request(`$JS.API.STREAM.INFO.${bucketStream('victim')}`, '', { timeout: 60_000 });
  return info.json<{ state?: { messages: number } }>().state?.messages;
};

test('no identity of it publishes as the other node, reads its messages, or erases its facts', async () => {
  const fact = storeSubject('victim', 'worker.fact.status.p');
  const worker = await connect('victim', 'pod-workers-0');
  const streams = await connect('victim', 'streams-0');
  worker.publish(fact, '{}');
  await worker.flush();
  expect(await stored(streams)).toBe(1);
  const received: string[] = [];
  const bridge = await connect('victim', 'cri-bridge-0');
  bridge.subscribe('kubus.victim.runtime.cmd.>', { callback: (_error, { subject }) => void received.push(subject) });
  await bridge.flush();

  for (const service of [...services, STREAMS]) {
    const hostile = await connect('hostile', `${service}-0`);
    const read: string[] = [];
    for (const subject of ['kubus.victim.>', '>', '$KV.kubus_victim.>']) {
      hostile.subscribe(subject, {
        callback: (error, message) => {
          if (error === null) read.push(message.subject);
        },
      });
    }
    for (const subject of ['kubus.victim.runtime.cmd.StopPodSandbox.p', fact]) hostile.publish(subject, 'forged');
    for (const call of [`STREAM.PURGE.${bucketStream('victim')}`, `STREAM.DELETE.${recordStream('victim')}`]) {
      // Either the permissions refuse it, or there is no such stream in its account.
      const answer = await hostile
        .request(`$JS.API.${call}`, '', { timeout: 5_000 })
        .then((message) => message.json<{ error?: { description: string } }>().error?.description ?? 'done')
        .catch(() => 'refused');
      expect([service, call, answer]).toEqual([service, call, expect.stringMatching(/^(refused|stream not found)$/)]);
    }
    worker.publish(fact, '{}');
    await worker.flush();
    await hostile.flush();
    expect([service, read.filter((subject) => /victim/.test(subject))]).toEqual([service, []]);
  }
  await bridge.flush();
  expect(received).toEqual([]);
  expect(await stored(streams)).toBe(1);
  await expect(streams.request(`$JS.API.STREAM.INFO.${recordStream('victim')}`, '')).resolves.toBeDefined();
});
