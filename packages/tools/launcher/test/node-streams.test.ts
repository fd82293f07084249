import { jetstreamManager } from '@nats-io/jetstream';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { streamsInstance } from '@kubus/bus-nats';
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
const resize = (size: string) => execFileSync('mount', ['-o', `remount,size=${size}`, disk]);

beforeEach(async () => {
  disk = mkdtempSync(join(tmpdir(), 'kubus-streams-'));
  execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=1g', 'kubus-test', disk]);
  await server.start('a', serviceContracts, []);
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
  const streams = new NodeStreams({ connection, node: 'a', store: disk, hub: false, logger });
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
