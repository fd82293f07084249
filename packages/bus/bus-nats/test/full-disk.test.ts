import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { type ServiceContract, type ServiceName, serviceNames } from '@kubus/contracts';
import { StorageType, jetstreamManager } from '@nats-io/jetstream';
import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { defaultRecordLimits, ensureStreams, permissionsOf, streamsInstance } from '../src/index.ts';
import { bucketStream, nodeSubject, recordStream, storeSubject } from '../src/names.ts';
import { TestNatsServer } from '../src/testing.ts';

const nothing: ServiceContract = { about: 'x', owns: [], reads: [], serves: [], calls: [], publishes: [], hears: [] };
const contracts = Object.fromEntries(serviceNames.map((name) => [name, nothing])) as Record<
  ServiceName,
  ServiceContract
>;
const NODE = 'n';
const subject = nodeSubject(NODE, 'config.event.color.red');
const key = storeSubject(NODE, 'config.fact.color.red');

let disk: string;
let server: TestNatsServer;

beforeEach(() => {
  disk = mkdtempSync(join(tmpdir(), 'kubus-full-disk-'));
  execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=6m', 'kubus-test', disk]);
  server = new TestNatsServer(disk);
});
afterEach(async () => {
  await server.stop();
  execFileSync('umount', [disk]);
  rmSync(disk, { recursive: true });
});

test('a record in memory takes every message while the disk is full, and facts go on; afterwards it is in files again', async () => {
  const writer = { service: 'config-sources', instance: 'config-sources-0' } as const;
  await server.start(NODE, contracts, [writer], (identity, node, given) =>
    identity.instance === writer.instance ? { publish: ['>'], subscribe: ['>'] } : permissionsOf(identity, node, given),
  );
  await server.makeStreams();
  const streams = await server.connect(streamsInstance);
  const nats = await server.connect(writer.instance);
  const manager = await jetstreamManager(streams);
  const publish = async (count: number) => {
    for (let n = 0; n < count; n++) nats.publish(subject, 'x'.repeat(4000));
    await nats.flush();
  };
  const record = async () => {
    const { config, state } = await manager.streams.info(recordStream(NODE));
    return [config.storage, state.messages];
  };
  await publish(10);
  expect(await record()).toEqual([StorageType.File, 10]);

  await ensureStreams(streams, NODE, defaultRecordLimits, 'memory');
  expect(() => writeFileSync(join(disk, 'filler'), Buffer.alloc(8_000_000))).toThrow('ENOSPC');
  await publish(2000);
  await nats.request(key, 'value', { timeout: 5000 });
  expect((await manager.streams.info(bucketStream(NODE))).state.messages).toBe(1);
  // With the fact, which is republished.
  expect(await record()).toEqual([StorageType.Memory, 2001]);

  rmSync(join(disk, 'filler'));
  await ensureStreams(streams, NODE, defaultRecordLimits);
  await publish(10);
  expect(await record()).toEqual([StorageType.File, 10]);
  await nats.close();
  await streams.close();
});
