import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { serviceContracts } from '@kubus/contracts';
import type { NatsConnection } from '@nats-io/nats-core';
import { permissionsOf } from '../src/index.ts';
import { recordStream } from '../src/names.ts';
import { TestNatsServer } from '../src/testing.ts';

const limits = { connections: 8, streams: 2, consumers: 10 };
const server = new TestNatsServer();
const open: NatsConnection[] = [];

async function connection(instance: string): Promise<NatsConnection> {
  const made = await server.connect(instance, { once: true });
  open.push(made);
  return made;
}

beforeAll(async () => {
  const identities = [
    { service: 'launcher', instance: 'launcher-0' },
    { service: 'reader', instance: 'reader-0' },
  ] as const;
  await server.start('n', serviceContracts, identities, permissionsOf, limits);
  await server.makeStreams();
});
afterAll(async () => {
  await Promise.all(open.map((one) => one.close()));
  await server.stop();
});

test('an identity can make no more consumers than a node may have', async () => {
  const reader = await connection('reader-0');
  const stream = recordStream('n');
  const config = { ack_policy: 'none', filter_subject: 'kubus.n.>', mem_storage: true, inactive_threshold: 60e9 };
  const make = async (at: number) => {
    const request = { stream_name: stream, config: { ...config, name: `c${at}` } };
    const answer = await reader.request(
      `STREAMS.API.CONSUMER.CREATE.${stream}.c${at}.kubus.n.>`,
      JSON.stringify(request),
      {
        timeout: 60_000,
      },
    );
    return answer.json<{ error?: { description: string } }>().error?.description;
  };
  const made = await Promise.all(Array.from({ length: limits.consumers }, (_, at) => make(at)));
  expect(made.filter((error) => error !== undefined)).toEqual([]);
  expect(await make(limits.consumers)).toBe('maximum consumers limit reached');
});

test('no identity makes a further stream, in memory or in files', async () => {
  for (const instance of ['launcher-0', 'reader-0']) {
    const one = await connection(instance);
    for (const storage of ['memory', 'file']) {
      const config = { name: `other_${storage}`, subjects: ['other'], storage, max_bytes: 1e12 };
      const answer = await one
        .request(`$JS.API.STREAM.CREATE.${config.name}`, JSON.stringify(config), { timeout: 60_000 })
        .then((message) => message.json<{ error?: { description: string } }>().error?.description ?? 'made')
        .catch(() => 'refused');
      expect([instance, storage, answer]).toEqual([instance, storage, expect.not.stringMatching(/^made$/)]);
    }
  }
});

test('an identity can open no more connections than a node may have, and those that are open stay', async () => {
  while (open.length < limits.connections) await connection('reader-0');
  await expect(connection('reader-0')).rejects.toThrow();
  await expect(open[0]?.flush()).resolves.toBeUndefined();
});
