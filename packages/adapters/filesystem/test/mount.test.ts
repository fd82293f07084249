import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import {
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import fc from 'fast-check';
import { execFile } from 'node:child_process';
import { open, opendir } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import {
  MountError,
  bindMount,
  listMounts,
  makeShared,
  mount,
  mountsBelow,
  deviceOf,
  parseMounts,
  removeTree,
  unmount,
  unmountBelow,
} from '../src/index.ts';
import { parseMountsBelow } from '../src/mount-table.ts';

const run = promisify(execFile);

let dir: string;
beforeEach(() => {
  dir = realpathSync(mkdtempSync(join(tmpdir(), 'kubus-mount-')));
});
afterEach(async () => {
  for (const { target } of await mountsBelow(dir)) await unmount(target);
  rmSync(dir, { recursive: true });
});

function folder(name: string): string {
  const path = join(dir, name);
  mkdirSync(path, { recursive: true });
  return path;
}
/** Resolves in the turn of the event loop in which `condition` becomes true. */
const until = (condition: () => boolean) =>
  new Promise<void>((resolve) => {
    const look = () => (condition() ? resolve() : setImmediate(look));
    look();
  });
const tmpfs = (target: string, options: string[] = []) => mount({ type: 'tmpfs', source: 'tmpfs', target, options });

describe('the mount table', () => {
  test('is parsed with optional fields and escaped names', () => {
    const mountinfo = [
      '27 1 254:0 / / rw,relatime - ext4 /dev/vda rw,discard',
      '51 29 0:4 net:[4026532256] /run/net rw shared:31 - nsfs nsfs rw',
      '36 35 98:0 /of\\040it /mnt2 rw,noatime master:1 shared:7 - ext3 /dev/root rw,errors=continue',
      '42 27 0:39 / /a\\040b\\134c ro,relatime shared:1 master:2 - tmpfs tmpfs rw,size=1024k',
      '',
    ].join('\n');
    expect(parseMounts(mountinfo)).toEqual([
      {
        target: '/',
        type: 'ext4',
        source: '/dev/vda',
        root: '/',
        readOnly: false,
        shared: false,
        options: ['rw', 'discard'],
      },
      {
        target: '/run/net',
        type: 'nsfs',
        source: 'nsfs',
        root: 'net:[4026532256]',
        readOnly: false,
        shared: true,
        options: ['rw'],
      },
      {
        ...{ target: '/mnt2', type: 'ext3', source: '/dev/root', root: '/of it', readOnly: false, shared: true },
        options: ['rw', 'errors=continue'],
      },
      {
        target: '/a b\\c',
        type: 'tmpfs',
        source: 'tmpfs',
        root: '/',
        readOnly: true,
        shared: true,
        options: ['rw', 'size=1024k'],
      },
    ]);
  });

  test.each([
    ['/var/lib/kubus/pods', '/dev/sdb1'],
    ['/var/lib/kubus', '/dev/sdb1'],
    ['/var/library', '/dev/sda1'],
    ['/run/x', 'tmpfs'],
    ['/a b/c', '/dev/sdc'],
  ])('the device of the path %s is %s', (path, expected) => {
    const text = [
      '22 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw',
      '23 22 0:21 / /run rw,nosuid shared:2 - tmpfs tmpfs rw,mode=755',
      '24 22 8:18 / /var/lib/kubus rw - ext4 /dev/sdd1 rw',
      '24 22 8:17 / /var/lib/kubus rw - ext4 /dev/sdb1 rw',
      '25 22 8:32 / /a\\040b rw - ext4 /dev/sdc rw',
      '',
    ].join('\n');
    expect(deviceOf(path, parseMounts(text))).toBe(expected);
  });

  test('mounts below a path are those of the whole table, the newest first, whatever the names are', () => {
    const name = fc.stringMatching(/^[ab \\\t\n]{1,3}$/);
    const path = fc.array(name, { minLength: 1, maxLength: 3 }).map((names) => `/${names.join('/')}`);
    const escaped = (text: string) =>
      text.replace(/[ \t\n\\]/g, (one) => `\\${one.charCodeAt(0).toString(8).padStart(3, '0')}`);
    fc.assert(
      fc.property(fc.array(path), path, (targets, wanted) => {
        const text = targets.map((target) => `42 27 0:39 / ${escaped(target)} rw - tmpfs tmpfs rw\n`).join('');
        const below = targets.filter((target) => target === wanted || target.startsWith(`${wanted}/`));
        expect(parseMountsBelow(text, wanted).map(({ target }) => target)).toEqual(below.reverse());
      }),
    );
  });

  test('below a folder starts with the newest mount and excludes neighbouring folders', async () => {
    const [outer, next] = [folder('a'), folder('ab')];
    await tmpfs(outer);
    await tmpfs(next);
    const inner = folder('a/with blank');
    await tmpfs(inner);
    expect((await mountsBelow(outer)).map(({ target }) => target)).toEqual([inner, outer]);
    expect((await listMounts()).map(({ target }) => target)).toContain(next);
  });

  test('below a folder is unmounted as a whole, including mounts in use', async () => {
    const outer = folder('outer with blank');
    await tmpfs(outer);
    await tmpfs(folder('outer with blank/inner'));
    const cwd = process.cwd();
    process.chdir(join(outer, 'inner'));
    try {
      await unmountBelow(dir);
    } finally {
      process.chdir(cwd);
    }
    expect(await mountsBelow(dir)).toEqual([]);
  });
});

describe('a mount', () => {
  test('has its options, and is unmounted', async () => {
    const target = folder('a');
    await tmpfs(target, ['size=1048576', 'mode=2777', 'gid=1234']);
    expect(statSync(target)).toMatchObject({ mode: 0o042777, gid: 1234 });
    expect(() => writeFileSync(join(target, 'big'), Buffer.alloc(2 ** 20 + 1))).toThrow('ENOSPC');
    await unmount(target);
    expect(await mountsBelow(dir)).toEqual([]);
  });

  test('that cannot be mounted or unmounted fails with the cause', async () => {
    const missing = join(dir, 'missing');
    await expect(tmpfs(missing)).rejects.toThrow(MountError);
    await expect(tmpfs(missing)).rejects.toThrow(`mount: ${missing}: mount point does not exist`);
    await expect(unmount(folder('a'))).rejects.toThrow('not mounted');
  });
});

describe('a bind mount', () => {
  test('shows an open file or folder even if its path changes', async () => {
    for (const [name, target] of [
      ['shown/file', join(dir, 'target-file')],
      ['shown', folder('target')],
    ] as const) {
      folder('shown');
      writeFileSync(join(dir, 'shown/file'), 'right');
      if (!existsSync(target)) writeFileSync(target, '');
      const opened = await open(join(dir, name));
      renameSync(join(dir, 'shown'), join(dir, 'away'));
      await bindMount(`/proc/${process.pid}/fd/${opened.fd}`, target);
      await opened.close();
      expect(readFileSync(name === 'shown' ? join(target, 'file') : target, 'utf8')).toBe('right');
      await unmount(target);
      rmSync(join(dir, 'away'), { recursive: true });
    }
  });

  test('of a folder on a file fails with the cause', async () => {
    writeFileSync(join(dir, 'file'), '');
    await expect(bindMount(folder('a'), join(dir, 'file'))).rejects.toThrow(MountError);
    expect(await mountsBelow(dir)).toEqual([]);
  });
});

describe('a shared folder', () => {
  const state = async () => (await mountsBelow(dir)).map(({ target, shared }) => [target.slice(dir.length), shared]);

  test('is made a mount of its own once, with its contents unchanged', async () => {
    const outer = folder('a');
    await tmpfs(outer, ['size=1048576']);
    await run('mount', ['--make-private', outer]);
    await tmpfs(folder('a/b/c'), ['size=1048576']);
    writeFileSync(join(outer, 'b/c/file'), 'seen');
    await makeShared(join(outer, 'b'));
    const made = [
      ['/a/b/c', true],
      ['/a/b', true],
      ['/a/b/c', false],
      ['/a', false],
    ];
    expect(await state()).toEqual(made);
    expect(readFileSync(join(outer, 'b/c/file'), 'utf8')).toBe('seen');
    await makeShared(join(outer, 'b'));
    expect(await state()).toEqual(made);
  });

  test('that was left incomplete is completed', async () => {
    const half = folder('a');
    await run('mount', ['--bind', half, half]);
    await run('mount', ['--make-private', half]);
    await makeShared(half);
    expect(await state()).toEqual([['/a', true]]);
  });

  test('in a shared mount is left unchanged', async () => {
    await tmpfs(folder('a'));
    await run('mount', ['--make-shared', folder('a')]);
    await makeShared(folder('a/b'));
    expect(await state()).toEqual([['/a', true]]);
  });
});

describe('removing a folder', () => {
  test('removes its contents, but not the targets of links', async () => {
    const target = folder('a/b');
    const other = folder('other');
    writeFileSync(join(other, 'file'), 'kept');
    symlinkSync(other, join(target, 'link'));
    await removeTree(join(dir, 'a'));
    await removeTree(join(dir, 'a'));
    expect(existsSync(join(dir, 'a'))).toBe(false);
    expect(readFileSync(join(other, 'file'), 'utf8')).toBe('kept');
  });

  test('is refused while something is mounted in it, even the same file system', async () => {
    const source = folder('source');
    writeFileSync(join(source, 'file'), 'kept');
    const target = folder('a/b');
    writeFileSync(join(dir, 'a/own'), '');
    await mount({ type: 'none', source, target, options: ['bind'] });
    await expect(removeTree(join(dir, 'a'))).rejects.toThrow(`${join(dir, 'a')} is not removed: ${target} is a mount`);
    expect(readFileSync(join(source, 'file'), 'utf8')).toBe('kept');
    expect(existsSync(join(dir, 'a/own'))).toBe(true);
    await unmount(target);
    await removeTree(join(dir, 'a'));
    expect(readFileSync(join(source, 'file'), 'utf8')).toBe('kept');
  });

  test.each([
    ['folder', '', '', /something is mounted on/],
    ['file', 'file', 'own', /EBUSY/],
  ])('removes nothing of a %s that is mounted in it after removal has started', async (_, file, on, reason) => {
    const source = folder('source');
    writeFileSync(join(source, 'file'), 'kept');
    for (let index = 0; index < 1500; index += 1) writeFileSync(join(folder(`a/${index}`), 'own'), '');
    const names: string[] = [];
    for await (const { name } of await opendir(join(dir, 'a'))) names.push(name);
    const [first = '', last = ''] = [names[0], names.at(-1)];
    const target = join(dir, 'a', last, on);
    const removed = removeTree(join(dir, 'a'));
    // By then it has read the mount table, and is removing earlier folders.
    await until(() => !existsSync(join(dir, 'a', first)));
    const mounting = mount({ type: 'none', source: join(source, file), target, options: ['bind'] });
    await expect(removed).rejects.toThrow(reason);
    await mounting;
    expect(readFileSync(join(source, 'file'), 'utf8')).toBe('kept');
    await unmount(target);
    await removeTree(join(dir, 'a'));
    expect(readdirSync(dir)).toEqual(['source']);
  });

  test('follows no link that replaces a folder meanwhile', async () => {
    const other = folder('other');
    for (let index = 0; index < 20; index += 1) {
      writeFileSync(join(other, `file${index}`), 'kept');
      for (let below = 0; below < 20; below += 1) writeFileSync(join(folder(`a/${index}`), `file${below}`), '');
    }
    let done = false;
    const swap = (index: number) => {
      if (done) return;
      const path = join(dir, 'a', `${index % 20}`);
      if (lstatSync(path, { throwIfNoEntry: false })?.isDirectory() === true) {
        try {
          renameSync(path, `${path}x`);
          symlinkSync(other, path);
        } catch {
          // Removed in between.
        }
      }
      setImmediate(swap, index + 1);
    };
    swap(0);
    await removeTree(join(dir, 'a'));
    done = true;
    expect(existsSync(join(dir, 'a'))).toBe(false);
    expect(readdirSync(other)).toHaveLength(20);
  });
});
