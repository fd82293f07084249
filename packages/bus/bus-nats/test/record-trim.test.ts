import { afterAll, beforeAll, beforeEach, expect, test } from '@jest/globals';
import { serviceContracts } from '@kubus/contracts';
import { type JetStreamManager, jetstreamManager } from '@nats-io/jetstream';
import type { NatsConnection } from '@nats-io/nats-core';
import { glob, mkdtemp, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
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

const disk = await mkdtemp(join(tmpdir(), 'kubus-record-'));
const server = new TestNatsServer(disk);
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
  await rm(disk, { recursive: true });
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
  ['with enough room', { bytes: 11 * MIB, since: 0 }, false],
  ['with less', { bytes: 11 * MIB + 1, since: 0 }, true],
  ['with messages of 65 minutes', { bytes: 1, since: 0 }, false],
  ['with older ones', { bytes: 1, since: -1 }, true],
])('a record is trimmed: %s', (_, content, expected) => {
  expect(isTrimDue(content, limits, 65 * MINUTE)).toBe(expected);
});

test('a record that is nearly full has room afterwards, its newest messages, and its limits', async () => {
  await publish(2_700);
  expect(await trim()).toBe(false);
  await publish(200);
  expect(await trim()).toBe(true);
  const { bytes, last_seq: last } = await state();
  expect(bytes).toBeLessThanOrEqual(10 * MIB);
  expect(bytes).toBeGreaterThan(10 * MIB - 5_000);
  expect(last).toBe(2_900);
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
  await publish(2_900);
  expect(await trim()).toBe(false);
});

/** The size of the largest file of the record, in bytes. */
async function largestFile(): Promise<number> {
  let largest = 0;
  for await (const file of glob(`${disk}/**/${record}/msgs/*.blk`))
    largest = Math.max(largest, (await stat(file)).size);
  return largest;
}

test('a new record has small files, and keeps its messages when the streams are ensured again', async () => {
  await publish(100);
  await ensureStreams(streams, NODE, limits);
  expect(await state()).toMatchObject({ messages: 100, first_seq: 1 });
  const largest = await largestFile();
  expect(largest).toBeGreaterThan(16_000);
  expect(largest).toBeLessThanOrEqual(32_000);
});

test('so has one that was in memory', async () => {
  await ensureStreams(streams, NODE, limits, 'memory');
  await ensureStreams(streams, NODE, limits);
  await publish(100);
  const largest = await largestFile();
  expect(largest).toBeGreaterThan(16_000);
  expect(largest).toBeLessThanOrEqual(32_000);
});

test('a large record has large files', async () => {
  await removeStreams(streams, NODE);
  await ensureStreams(streams, NODE, { ...limits, maxBytes: 33 * MIB });
  await publish(100);
  expect(await largestFile()).toBeGreaterThan(400_000);
});
