import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { configEvent, patternOf, serviceContracts, subjectOf } from '@kubus/contracts';
import type { NatsConnection } from '@nats-io/nats-core';
import { TestNatsServer } from '../src/testing.ts';

const instances = ['config-sources', 'status-manager'] as const;
const server = new TestNatsServer();
let writer: NatsConnection;
let reader: NatsConnection;
const received: string[] = [];

const connect = (instance: string) => server.connect(instance);

beforeAll(async () => {
  const identities = instances.map((service) => ({ service, instance: `${service}-0` }));
  await server.start('n', serviceContracts, identities);
  [writer, reader] = [await connect('config-sources-0'), await connect('status-manager-0')];
  reader.subscribe(patternOf('n', configEvent), {
    callback: (_error, message) => void received.push(message.string()),
  });
  await reader.flush();
});
afterAll(async () => {
  await Promise.all([writer, reader].map((one) => one.close()));
  await server.stop();
});

/** Counts what the library hands to the socket. */
function countWrites(connection: NatsConnection): { count: number } {
  const { transport } = (connection as unknown as { protocol: { transport: { send(frame: Uint8Array): void } } })
    .protocol;
  const send = transport.send.bind(transport);
  const writes = { count: 0 };
  transport.send = (frame) => {
    writes.count += 1;
    send(frame);
  };
  return writes;
}

test('all that is published in one turn of the event loop is one write, in order, and before what flush waits for', async () => {
  const writes = countWrites(writer);
  for (let index = 0; index < 20; index += 1) {
    writer.publish(subjectOf('n', configEvent, 'x'), String(index));
    // By itself the library writes each time that promises have run.
    await Promise.resolve();
    await Promise.resolve();
  }
  await writer.flush();
  expect(writes.count).toBe(1);
  await reader.flush();
  expect(received.splice(0)).toEqual(Array.from({ length: 20 }, (_, index) => String(index)));
});

test('more than the library holds back is written at once', async () => {
  const writes = countWrites(writer);
  for (let index = 0; index < 5; index += 1) writer.publish(subjectOf('n', configEvent, 'x'), 'x'.repeat(40_000));
  expect(writes.count).toBeGreaterThan(1);
  await writer.flush();
  await reader.flush();
  expect(received.splice(0)).toHaveLength(5);
});

test('what was published before the connection is closed arrives', async () => {
  const last = await connect('config-sources-0');
  last.publish(subjectOf('n', configEvent, 'x'), 'last');
  await last.close();
  // The connection's end has been seen by the server when another one has gone through it.
  await (await connect('config-sources-0')).close();
  await reader.flush();
  expect(received).toEqual(['last']);
});
