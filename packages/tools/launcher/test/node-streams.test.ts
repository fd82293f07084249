import { jetstreamManager } from '@nats-io/jetstream';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { defaultRecordLimits, nodeSubject, permissionsOf, streamsInstance } from '@kubus/bus-nats';
import { TestNatsServer } from '@kubus/bus-nats/testing';
import { serviceContracts } from '@kubus/contracts';
import { silentLogger } from '@kubus/ports';
import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { NodeStreams } from '../src/nats/node-streams.ts';

let disk: string;
const server = new TestNatsServer();
const MIB = 1024 * 1024;
const writer = { service: 'config-sources', instance: 'config-sources-0' } as const;
const resize = (size: string) => execFileSync('mount', ['-o', `remount,size=${size}`, disk]);

beforeEach(async () => {
  disk = mkdtempSync(join(tmpdir(), 'kubus-streams-'));
  execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=1g', 'kubus-test', disk]);
  await server.start('a', serviceContracts, [writer], (identity, node, contracts) =>
    identity.instance === writer.instance
      ? { publish: ['>'], subscribe: [] }
      : permissionsOf(identity, node, contracts),
  );
});
afterEach(async () => {
  await server.stop();
  execFileSync('umount', [disk]);
  rmSync(disk, { recursive: true });
});

test('the record is in memory from when its disk is nearly full until there is room again', async () => {
  const connection = await server.connect(streamsInstance);
  const said: unknown[] = [];
  const logger = { ...silentLogger, warn: (_: unknown, text?: string) => said.push(text) };
  const streams = new NodeStreams({
    connection,
    node: 'a',
    store: disk,
    limits: defaultRecordLimits,
    hub: false,
    logger,
  });
  await streams.ensure();
  const manager = await jetstreamManager(connection);
  const storage = async () => (await manager.streams.info('KUBUS_a')).config.storage;
  const until = async (wanted: string) => {
    while ((await storage().catch(() => 'replaced')) !== wanted) await wait(50);
  };
  expect(await storage()).toBe('file');
  resize('63m');
  await until('memory');
  // Not enough room to go back.
  resize('200m');
  await streams.ensure();
  expect(await storage()).toBe('memory');
  resize('1g');
  await until('file');
  expect(said).toEqual([expect.stringContaining('nearly full'), expect.stringContaining('room again')]);
  streams.stop();
  await connection.close();
});

test('a record that is nearly full is trimmed', async () => {
  const connection = await server.connect(streamsInstance);
  const limits = { ...defaultRecordLimits, maxBytes: 6 * MIB };
  const streams = new NodeStreams({ connection, node: 'a', store: disk, limits, hub: false, logger: silentLogger });
  await streams.ensure();
  const manager = await jetstreamManager(connection);
  const nats = await server.connect(writer.instance);
  for (let n = 0; n < 1_350; n++) nats.publish(nodeSubject('a', `config.event.color.c${n}`), Buffer.alloc(4_000));
  await nats.flush();
  // By itself the server would keep all of them.
  while ((await manager.streams.info('KUBUS_a')).state.first_seq <= 1) await wait(50);
  streams.stop();
  await nats.close();
  await connection.close();
});
