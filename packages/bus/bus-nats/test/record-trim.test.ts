import { afterAll, beforeAll, beforeEach, expect, test } from '@jest/globals';
import { serviceContracts } from '@kubus/contracts';
import { type JetStreamManager, jetstreamManager } from '@nats-io/jetstream';
import type { NatsConnection } from '@nats-io/nats-core';
import { setTimeout as wait } from 'node:timers/promises';
import { ensureStreams, permissionsOf, removeStreams, streamsInstance, trimRecord } from '../src/index.ts';
import { nodeSubject, recordStream } from '../src/names.ts';
import { isTrimDue } from '../src/record-trim.ts';
import { TestNatsServer } from '../src/testing.ts';

const NODE = 'n';
const record = recordStream(NODE);
const writer = { service: 'config-sources', instance: 'config-sources-0' } as const;
const MIB = 1024 * 1024;
const MINUTE = 60_000;
const limits = { maxBytes: 12 * MIB, maxAgeMs: 70 * MINUTE };

const server = new TestNatsServer();
let streams: NatsConnection;
let nats: NatsConnection;
let manager: JetStreamManager;

beforeAll(async () => {
  await server.start(NODE, serviceContracts, [writer], (identity, node, given) =>
    identity.instance === writer.instance ? { publish: ['>'], subscribe: ['>'] } : permissionsOf(identity, node, given),
  );
  streams = await server.connect(streamsInstance);
  nats = await server.connect(writer.instance);
  manager = await jetstreamManager(streams);
});
afterAll(async () => {
  await nats.close();
  await streams.close();
  await server.stop();
});
beforeEach(async () => {
  await removeStreams(streams, NODE);
  await ensureStreams(streams, NODE, limits);
});

/** Publishes messages of 4,000 bytes, and returns when the record has them. */
async function publish(count: number): Promise<void> {
  const { messages } = await state();
  for (let n = 0; n < count; n++) nats.publish(nodeSubject(NODE, `config.event.color.c${n}`), 'x'.repeat(4_000));
  await nats.flush();
  while ((await state()).messages < messages + count) await wait(10);
}
const state = async () => (await manager.streams.info(record)).state;
const trim = (given = limits, now = Date.now()) => trimRecord(streams, NODE, given, now);

test.each([
  ['an empty record', { bytes: 0, since: 0 }, false],
  ['with more room than one file', { bytes: 8 * MIB, since: 0 }, false],
  ['with less', { bytes: 8 * MIB + 1, since: 0 }, true],
  ['with messages of 65 minutes', { bytes: 1, since: 0 }, false],
  ['with older ones', { bytes: 1, since: -1 }, true],
])('a record is trimmed: %s', (_, content, expected) => {
  expect(isTrimDue(content, limits, 65 * MINUTE)).toBe(expected);
});

test('a record that is nearly full has room for two files afterwards, its newest messages, and its limits', async () => {
  await publish(2_000);
  expect(await trim()).toBe(false);
  await publish(100);
  expect(await trim()).toBe(true);
  const { bytes, last_seq: last } = await state();
  expect(bytes).toBeLessThanOrEqual(4 * MIB);
  expect(bytes).toBeGreaterThan(4 * MIB - 5_000);
  expect(last).toBe(2_100);
  expect((await manager.streams.info(record)).config).toMatchObject({ max_bytes: limits.maxBytes });
  expect(await trim()).toBe(false);
});

test('messages that are too old go, newer ones stay', async () => {
  // Ten minutes less are 200 ms.
  const short = { ...limits, maxAgeMs: 10 * MINUTE + 200 };
  // It must not be longer than messages are kept; nanoseconds.
  await manager.streams.update(record, { duplicate_window: 100_000_000 });
  await publish(2);
  await wait(300);
  await publish(1);
  expect(await trim(short, Date.now() + 6 * MINUTE)).toBe(true);
  expect(await state()).toMatchObject({ messages: 1, first_seq: 3 });
});

test('limits that an interrupted trim has left lower are set right', async () => {
  await manager.streams.update(record, { max_bytes: 4 * MIB });
  expect(await trim()).toBe(true);
  expect((await manager.streams.info(record)).config).toMatchObject({ max_bytes: limits.maxBytes });
});

test('a record in memory is left alone', async () => {
  await ensureStreams(streams, NODE, limits, 'memory');
  await publish(2_100);
  expect(await trim()).toBe(false);
});
