import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { factKey, podStatus, serviceContracts } from '@kubus/contracts';
import { type NatsConnection, headers } from '@nats-io/nats-core';
import { storeSubject } from '../src/names.ts';
import { StoreAnswers } from '../src/store-answers.ts';
import { TestNatsServer } from '../src/testing.ts';
import { clock, ids } from './ports.ts';

const server = new TestNatsServer();
const subject = storeSubject('n', factKey(podStatus, 'u1'));
let connection: NatsConnection;

beforeAll(async () => {
  await server.start('n', serviceContracts, [{ service: 'pod-workers', instance: 'pod-workers-0' }]);
  await server.makeStreams();
  connection = await server.connect('pod-workers-0');
});
afterAll(async () => {
  await connection.close();
  await server.stop();
});

const answers = (timeoutMs = 60_000) =>
  new StoreAnswers({ connection, instance: 'pod-workers-0', clock, ids, timeoutMs });

test('a message counts as stored when the broker says so, and a refused one is an error with its reason', async () => {
  const store = answers();
  const expected = headers();
  // JetStream refuses a message that expects another predecessor.
  expected.set('Nats-Expected-Last-Subject-Sequence', '99');
  const results = await Promise.allSettled([
    store.store(subject, '1', headers()),
    store.store(subject, '2', expected),
    store.store(subject, '3', headers()),
  ]);
  expect(results).toMatchObject([
    { status: 'fulfilled' },
    { status: 'rejected', reason: { code: 'not-stored', message: expect.stringContaining('wrong last sequence') } },
    { status: 'fulfilled' },
  ]);
});

test('a message without an answer counts as lost after its time, one after the other', async () => {
  const store = answers(50);
  await server.kill();
  const lost = (data: string) =>
    expect(store.store(subject, data, headers())).rejects.toMatchObject({
      message: `${subject} was not stored: no answer within 50 ms`,
    });
  await lost('1');
  await Promise.all([lost('2'), lost('3')]);
});
