// A cgroup below one that tells of everything in it: what has to be read again; with hierarchies of v2 as files.
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import type { UsageDetail } from '@kubus/cgroup-config';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { CgroupReader } from '../src/index.ts';

let folder: string;
let reader: CgroupReader;
const controllers = ['cpu', 'memory', 'io', 'pids'];
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'kubus-within-'));
  const mounts = {
    version: 2,
    controllers: new Map(controllers.map((name) => [name, folder])),
    unified: folder,
  } as const;
  reader = new CgroupReader({ mounts });
  for (const path of ['/pod', '/pod/run', '/pod/other']) {
    write(path, 'cpu.stat', 'usage_usec 5\n');
    write(path, 'memory.current', '100\n');
    write(path, 'memory.stat', 'anon 60\n');
    write(path, 'io.stat', '8:0 rbytes=1 wbytes=0 rios=1 wios=0\n');
    for (const what of ['cpu', 'memory', 'io']) write(path, `${what}.pressure`, pressure(0, 3));
  }
});
afterEach(() => {
  reader.release(() => false);
  rmSync(folder, { recursive: true });
});

const write = (path: string, file: string, text: string) => {
  mkdirSync(join(folder, path), { recursive: true });
  writeFileSync(join(folder, path, file), text);
};
const pressure = (mean: number, total: number) =>
  ['some', 'full'].map((kind) => `${kind} avg10=${mean} avg60=${mean} avg300=${mean} total=${total}\n`).join('');
/** What a round of readings says of `/pod/run`. */
const round = (detail: UsageDetail = 'all') => {
  reader.read('/pod', detail);
  return reader.read('/pod/run', detail, { within: '/pod' });
};
const rss = () => round()?.memory.rssBytes;

test('is not read while nothing is counted above, but once more when that has come to a stand', () => {
  expect(rss()).toBe(60);
  write('/pod/run', 'memory.stat', 'anon 61\n');
  expect(rss()).toBe(61);
  write('/pod/run', 'memory.stat', 'anon 62\n');
  expect([rss(), rss()]).toEqual([61, 61]);
});

test.each([
  ['cpu.stat', 'usage_usec 6\n'],
  ['memory.current', '101\n'],
  ['memory.stat', 'anon 61\n'],
  ['io.stat', '8:0 rbytes=2 wbytes=0 rios=1 wios=0\n'],
  ['io.pressure', pressure(0, 4)],
])('is read again when %s of the one above says something else', (file, text) => {
  expect([rss(), rss()]).toEqual([60, 60]);
  write('/pod/run', 'memory.stat', 'anon 62\n');
  write('/pod', file, text);
  expect(rss()).toBe(62);
});

test('is read when a look in between, for less, has missed a change', () => {
  expect([rss(), rss()]).toEqual([60, 60]);
  write('/pod', 'cpu.stat', 'usage_usec 6\n');
  write('/pod/run', 'memory.stat', 'anon 62\n');
  reader.read('/pod', 'usage');
  expect(rss()).toBe(62);
});

test('is read with more detail than before', () => {
  round('usage');
  round('usage');
  expect(round('pressure')?.pressures?.io?.some.total).toBe(3);
  round('usage');
  expect(round('all')?.more?.disks).toHaveLength(1);
});

test('has means of pressure that come down', () => {
  write('/pod/run', 'cpu.pressure', pressure(7, 3));
  round();
  expect(round()?.pressures?.cpu?.some.avg10).toBe(7);
  write('/pod/run', 'cpu.pressure', pressure(5, 3));
  write('/pod', 'cpu.pressure', pressure(1, 3));
  const usage = round();
  expect(usage?.pressures?.cpu?.some).toEqual({ avg10: 5, avg60: 5, avg300: 5, total: 3 });
  expect(round('usage')).toBe(usage);
});

test('is read when it is new, or was let go', () => {
  round();
  round();
  expect(reader.read('/pod/other', 'all', { within: '/pod' })?.memory.rssBytes).toBe(60);
  write('/pod/run', 'memory.stat', 'anon 62\n');
  reader.release((path) => path !== '/pod/run');
  expect(rss()).toBe(62);
});
