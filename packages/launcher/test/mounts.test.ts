import { execFileSync } from 'node:child_process';
import { mkdir, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from '@jest/globals';
import { mountsUnder, parseMounts, removeTree, unmountAll } from '../src/mounts.ts';
import { testFolder } from './support.ts';

test('mountinfo is read field by field, with blanks in paths and optional fields', () => {
  const mountinfo = [
    '36 35 98:0 /mnt1 /mnt2 rw,noatime master:1 shared:7 - ext3 /dev/root rw,errors=continue',
    '51 29 0:4 net:[4026532256] /run/with\\040blank rw shared:31 - nsfs nsfs rw',
    '35 31 0:32 / /sys/fs/cgroup/memory rw,relatime - cgroup cgroup rw,memory',
    '',
  ].join('\n');
  expect(parseMounts(mountinfo)).toEqual([
    { target: '/mnt2', type: 'ext3', source: '/mnt1', options: ['rw', 'errors=continue'] },
    { target: '/run/with blank', type: 'nsfs', source: 'net:[4026532256]', options: ['rw'] },
    { target: '/sys/fs/cgroup/memory', type: 'cgroup', source: '/', options: ['rw', 'memory'] },
  ]);
});

describe('mounts below a folder', () => {
  async function mounted(): Promise<string> {
    const folder = await testFolder();
    const outer = join(folder, 'outer with blank');
    await mkdir(outer);
    execFileSync('mount', ['-t', 'tmpfs', 'test', outer]);
    await mkdir(join(outer, 'inner'));
    execFileSync('mount', ['-t', 'tmpfs', 'test', join(outer, 'inner')]);
    return folder;
  }

  test('are found in the order in which they can be undone, without those of a folder with a longer name', async () => {
    const folder = await mounted();
    const outer = join(folder, 'outer with blank');
    expect((await mountsUnder(outer)).map(({ target }) => target)).toEqual([join(outer, 'inner'), outer]);
    expect(await mountsUnder(join(folder, 'outer'))).toEqual([]);
  });

  test('are removed, also one that is in use', async () => {
    const folder = await mounted();
    const cwd = process.cwd();
    process.chdir(join(folder, 'outer with blank', 'inner'));
    try {
      await unmountAll(folder);
    } finally {
      process.chdir(cwd);
    }
    expect(await mountsUnder(folder)).toEqual([]);
  });

  test('keep the folder from being removed, with what is mounted there', async () => {
    const folder = await mounted();
    const file = join(folder, 'outer with blank', 'file');
    await writeFile(file, 'of the host');
    await expect(removeTree(folder)).rejects.toMatchObject({
      code: 'StillMounted',
      message: expect.stringContaining('inner') as unknown,
    });
    expect((await stat(file)).size).toBe(11);
    await unmountAll(folder);
    await removeTree(folder);
    await expect(stat(folder)).rejects.toMatchObject({ code: 'ENOENT' });
    await removeTree(folder);
  });
});
