// Statistics of this machine.
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { systemClock } from '@kubus/service-kit';
import { once } from 'node:events';
import { closeSync, mkdtempSync, openSync, rmSync, statfsSync, writeFileSync } from 'node:fs';
import { cpus, tmpdir, totalmem, uptime } from 'node:os';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { HostFigures } from '../src/host-figures.ts';

const host = new HostFigures({ proc: '/proc', root: '' }, systemClock);
let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'kubus-host-'));
});
afterEach(() => rmSync(folder, { recursive: true }));

test('the machine is reported as the kernel describes it', () => {
  const { machine, memory } = host.machine();
  expect(machine).toMatchObject({ cpus: cpus().length, memoryBytes: totalmem() });
  expect(machine.cores).toBeLessThanOrEqual(machine.cpus);
  expect(Math.abs(Date.now() - uptime() * 1000 - machine.bootedAtMs)).toBeLessThan(10_000);
  expect(machine.bootId).toMatch(/^[0-9a-f-]{36}$/);
  expect(memory.usageBytes).toBeGreaterThan(0);
  expect(memory.usageBytes).toBeLessThan(totalmem());
  const processes = host.processes();
  expect(processes?.now).toBeGreaterThan(1);
  expect(processes?.most).toBeGreaterThan(processes?.now ?? NaN);
  expect(host.network()?.interfaces.map(({ name }) => name)).not.toContain('lo');
});

test('open files are counted', () => {
  const before = host.openFiles([process.pid]);
  const descriptors = Array.from({ length: 10 }, () => openSync('/dev/null', 'r'));
  try {
    const after = host.openFiles([process.pid]);
    expect(after.openFiles - before.openFiles).toBe(10);
    expect(after.openSockets).toBe(before.openSockets);
    expect(after.openFilesLimit).toBeGreaterThan(0);
    expect(host.openFiles([process.pid, 2 ** 30]).openFiles).toBe(after.openFiles);
    expect(host.openFiles([])).toEqual({ openFiles: 0, openSockets: 0, openFilesLimit: undefined });
  } finally {
    descriptors.forEach((one) => closeSync(one));
  }
});

test('open sockets are counted among the open files', async () => {
  const before = host.openFiles([process.pid]);
  const server = createServer().listen({ path: join(folder, 'socket') });
  await once(server, 'listening');
  try {
    const after = host.openFiles([process.pid, 2 ** 30]);
    expect(after.openSockets - before.openSockets).toBe(1);
    expect(after.openSockets).toBeLessThan(after.openFiles);
  } finally {
    server.close();
  }
});

test('a file system is reported with its device', () => {
  const { blocks, bsize, files } = statfsSync(folder);
  const found = host.fileSystem(folder);
  expect(found).toMatchObject({ capacityBytes: blocks * bsize, inodes: files });
  expect((found?.inodesFree ?? 0) + (found?.inodesUsed ?? 0)).toBe(files);
  const devices = host.devices([folder, tmpdir(), join(folder, 'missing')]);
  expect(devices).toMatchObject([{ fs: { capacityBytes: blocks * bsize } }]);
  expect(devices[0]?.device).not.toBe('');
  expect(host.fileSystem(join(folder, 'missing'))).toBeUndefined();
});

test('the size of a folder is that of its files', () => {
  const empty = host.folder(folder);
  writeFileSync(join(folder, '0.log'), 'x'.repeat(10_000));
  const full = host.folder(folder);
  expect((full?.usedBytes ?? 0) - (empty?.usedBytes ?? 0)).toBeGreaterThanOrEqual(10_000);
  expect([empty?.inodesUsed, full?.inodesUsed]).toEqual([1, 2]);
  expect(host.folder(join(folder, 'missing'))).toBeUndefined();
});
