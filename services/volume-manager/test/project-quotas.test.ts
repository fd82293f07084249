// emptyDir volumes measured by project quotas, on a real file system with them; the machine's tables of projects are in a folder of the test.
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { useMountHelper } from '@kubus/filesystem';
import { type Logger, silentLogger } from '@kubus/ports';
import { systemClock } from '@kubus/service-kit';
import type { FolderStep } from '@kubus/volume';
import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  closeSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readFileSync,
  readdirSync,
  rmSync,
  truncateSync,
  unlinkSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { createVolumeHost } from '../src/index.ts';
import { ProjectQuotas } from '../src/host/project-quotas.ts';
import { volumeUsage } from '../src/usage/volume-usage.ts';
import { makeRoot, removeRoot } from './test-root.ts';

const source = fileURLToPath(new URL('../../../packages/adapters/filesystem/native/mount-helper.c', import.meta.url));
const programs = mkdtempSync(join(tmpdir(), 'kubus-mount-helper-'));
const MIB = 2 ** 20;
const noCsi = { stats: () => Promise.resolve(undefined) };

/** File systems that can count by projects, and the programs that make them. */
const KINDS = {
  ext4: ['mkfs.ext4', '-q', '-O', 'quota,project', '-E', 'quotatype=prjquota'],
  xfs: ['mkfs.xfs', '-q'],
} as const;
type Kind = keyof typeof KINDS;

function mountQuotaDisk(kind: Kind, folder: string): void {
  mkdirSync(folder);
  const image = `${folder}.img`;
  writeFileSync(image, '');
  truncateSync(image, 400 * MIB);
  const [program, ...words] = KINDS[kind];
  execFileSync(program, [...words, image], { stdio: 'ignore' });
  execFileSync('mount', ['-o', 'loop,prjquota', '-t', kind, image, folder], { stdio: 'ignore' });
}

/** Whether this machine has the kernel's part and the programs. */
function isPossible(kind: Kind): boolean {
  const folder = mkdtempSync(join(tmpdir(), 'kubus-quota-'));
  const disk = join(folder, 'disk');
  try {
    mountQuotaDisk(kind, disk);
    execFileSync('umount', [disk]);
    return true;
  } catch {
    return false;
  } finally {
    rmSync(folder, { recursive: true });
  }
}

let dir: string;
let root: string;
let tables: string;
let warned: string[];
const logger: Logger = { ...silentLogger, warn: (_fields, message) => void warned.push(message) };

beforeAll(() => {
  const program = join(programs, 'mount-helper');
  execFileSync('cc', ['-std=c11', '-O2', '-static', source, '-o', program]);
  useMountHelper(program);
});
afterAll(() => rmSync(programs, { recursive: true }));
beforeEach(() => {
  dir = makeRoot();
  [root, tables] = [join(dir, 'node'), join(dir, 'tables')];
  mkdirSync(tables);
  warned = [];
});
afterEach(async () => removeRoot(dir));

const pathOf = (uid: string, name = 'disk') => join(root, 'pods', uid, 'volumes', 'kubernetes.io~empty-dir', name);
const step = (uid: string, name?: string): FolderStep => ({
  ...{ kind: 'folder', path: pathOf(uid, name), mode: 0o777, quota: true },
});
const table = (name: 'projects' | 'projid') => readFileSync(join(tables, name), 'utf8');
/** A process of the service. */
function start() {
  const quotas = new ProjectQuotas({ root, logger, tables });
  return { quotas, host: createVolumeHost({ root, clock: systemClock, logger, quotas }) };
}
const report = () => undefined;

describe.each(Object.keys(KINDS) as Kind[])('on %s', (kind) => {
  const withQuota = isPossible(kind) ? test : test.skip;
  if (withQuota !== test)
    process.stderr.write(
      `project-quotas.test.ts: skipped on ${kind}, which this machine cannot make or count by projects\n`,
    );

  withQuota('the kernel counts what is in a volume, also a file that is deleted and open', async () => {
    mountQuotaDisk(kind, root);
    const { host, quotas } = start();
    await host.make(step('a'), report);
    await host.make(step('a', 'other'), report);
    expect(table('projects')).toBe(`1048577:${pathOf('a')}\n1048578:${pathOf('a', 'other')}\n`);
    expect(table('projid')).toBe('volume1048577:1048577\nvolume1048578:1048578\n');
    mkdirSync(join(pathOf('a'), 'below'));
    const file = openSync(join(pathOf('a'), 'below', 'file'), 'w');
    writeSync(file, Buffer.alloc(8 * MIB, 1));
    execFileSync('sync', ['--file-system', root]);
    unlinkSync(join(pathOf('a'), 'below', 'file'));
    try {
      expect(Number(await host.usage(step('a')))).toBeGreaterThanOrEqual(8 * MIB);
      expect(await volumeUsage(step('a'), noCsi, quotas)).toMatchObject({ inodesUsed: 3 });
      expect(Number(await host.usage({ path: pathOf('a') }))).toBeLessThan(MIB);
      expect(Number(await host.usage(step('a', 'other')))).toBeLessThan(MIB);
      // A process that starts again, with the reference's or its own tables.
      expect(Number(await start().host.usage(step('a')))).toBeGreaterThanOrEqual(8 * MIB);
    } finally {
      closeSync(file);
    }
    await host.remove('a');
    expect([table('projects'), table('projid')]).toEqual(['', '']);
    expect(existsSync(pathOf('a'))).toBe(false);
    expect(readdirSync(tables).sort()).toEqual(['projects', 'projid'].sort());
    expect(warned).toEqual([]);
  });

  withQuota('a project that has files or a line is not given again', async () => {
    mountQuotaDisk(kind, root);
    const { host } = start();
    await host.make(step('a'), report);
    await host.make(step('b'), report);
    // The lines are lost, not the projects; another one is taken by a user.
    writeFileSync(join(tables, 'projects'), '');
    writeFileSync(join(tables, 'projid'), 'late:1048579\n');
    expect(await start().quotas.usage(pathOf('a'))).toBeUndefined();
    await host.make(step('c'), report);
    expect(table('projects')).toBe(`1048580:${pathOf('c')}\n`);
  });

  withQuota('a folder of a tree with a project of a user stays in it', async () => {
    mountQuotaDisk(kind, root);
    mkdirSync(join(root, 'pods'));
    execFileSync('chattr', ['+P', '-p', '42', join(root, 'pods')]);
    const { host, quotas } = start();
    await host.make(step('a'), report);
    expect(await quotas.usage(pathOf('a'))).toBeUndefined();
    expect(Number(await host.usage(step('a')))).toBeLessThan(MIB);
    expect(readdirSync(tables)).toEqual([]);
  });

  withQuota('a line that was written before a crash is used, or freed', async () => {
    mountQuotaDisk(kind, root);
    writeFileSync(join(tables, 'projects'), `7:/srv\n1048577:${pathOf('a')}\n1048578:${pathOf('gone')}\n`);
    writeFileSync(join(tables, 'projid'), 'srv:7\nvolume1048577:1048577\nvolume1048578:1048578\n');
    const { host, quotas } = start();
    await host.make(step('a'), report);
    expect(await quotas.usage(pathOf('a'))).toMatchObject({ project: 1048577 });
    await start().quotas.releaseMissing();
    expect(table('projects')).toBe(`7:/srv\n1048577:${pathOf('a')}\n`);
    // Its volume is gone, its line is not: the pod is removed again after a crash.
    rmSync(pathOf('a'), { recursive: true });
    await start().host.remove('a');
    expect([table('projects'), table('projid')]).toEqual(['7:/srv\n', 'srv:7\n']);
  });

  withQuota('without tables that can be written, the volume is made and measured without a quota', async () => {
    mountQuotaDisk(kind, root);
    mkdirSync(join(tables, 'projid'));
    const { host } = start();
    await host.make(step('a'), report);
    expect(warned).toEqual(['a volume gets no project quota, and is measured without']);
    expect(Number(await host.usage(step('a')))).toBeLessThan(MIB);
  });
});

test('where there is no quota, volumes are made and measured without, and lines of removed ones are freed', async () => {
  writeFileSync(join(tables, 'projects'), `1048577:${pathOf('a')}\n1048578:${pathOf('gone')}\n`);
  writeFileSync(join(tables, 'projid'), 'volume1048577:1048577\nvolume1048578:1048578\n');
  chmodSync(join(tables, 'projid'), 0o600);
  const { host, quotas } = start();
  await host.make(step('a'), report);
  writeFileSync(join(pathOf('a'), 'file'), Buffer.alloc(MIB, 1));
  expect(Number(await host.usage(step('a')))).toBeGreaterThanOrEqual(MIB);
  expect((await volumeUsage(step('a'), noCsi, quotas))?.usedBytes).toBeGreaterThanOrEqual(MIB);
  await quotas.releaseMissing();
  expect(table('projects')).toBe(`1048577:${pathOf('a')}\n`);
  await host.remove('a');
  expect([table('projects'), table('projid')]).toEqual(['', '']);
  expect(warned).toEqual([]);
});

test('the end of a pod without a project does not read the tables again', async () => {
  const { host, quotas } = start();
  await quotas.releaseMissing();
  // Reading it would fail.
  mkdirSync(join(tables, 'projects'));
  await host.remove('a');
  expect(warned).toEqual([]);
  await start().host.remove('a');
  expect(warned).toEqual(['projects of removed volumes cannot be freed']);
});
