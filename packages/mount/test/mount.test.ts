import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { MountError, listMounts, mount, mountsBelow, parseMounts, removeTree, unmount } from '../src/index.ts';

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
const tmpfs = (target: string, options: string[] = []) => mount({ type: 'tmpfs', source: 'tmpfs', target, options });

describe('the list of mounts', () => {
  test('is read with optional fields and escaped names', () => {
    const mountinfo = [
      '27 1 254:0 / / rw,relatime - ext4 /dev/vda rw,discard',
      '42 27 0:39 / /a\\040b\\134c rw,relatime shared:1 master:2 - tmpfs tmpfs rw,size=1024k',
      '',
    ].join('\n');
    expect(parseMounts(mountinfo)).toEqual([
      { target: '/', type: 'ext4' },
      { target: '/a b\\c', type: 'tmpfs' },
    ]);
  });

  test('below a folder begins with the last one made, and has nothing of its neighbours', async () => {
    const [outer, next] = [folder('a'), folder('ab')];
    await tmpfs(outer);
    await tmpfs(next);
    const inner = folder('a/with blank');
    await tmpfs(inner);
    expect((await mountsBelow(outer)).map(({ target }) => target)).toEqual([inner, outer]);
    expect((await listMounts()).map(({ target }) => target)).toContain(next);
  });
});

describe('a mount', () => {
  test('has its options, and is undone', async () => {
    const target = folder('a');
    await tmpfs(target, ['size=1048576', 'mode=2777', 'gid=1234']);
    expect(statSync(target)).toMatchObject({ mode: 0o042777, gid: 1234 });
    expect(() => writeFileSync(join(target, 'big'), Buffer.alloc(2 ** 20 + 1))).toThrow('ENOSPC');
    await unmount(target);
    expect(await mountsBelow(dir)).toEqual([]);
  });

  test('that can not be made or undone says why', async () => {
    const missing = join(dir, 'missing');
    await expect(tmpfs(missing)).rejects.toThrow(MountError);
    await expect(tmpfs(missing)).rejects.toThrow(`mount: ${missing}: mount point does not exist`);
    await expect(unmount(folder('a'))).rejects.toThrow('not mounted');
  });
});

describe('removing a folder', () => {
  test('takes all that is in it, but what links point at', async () => {
    const target = folder('a/b');
    const other = folder('other');
    writeFileSync(join(other, 'file'), 'kept');
    symlinkSync(other, join(target, 'link'));
    await removeTree(join(dir, 'a'));
    await removeTree(join(dir, 'a'));
    expect(existsSync(join(dir, 'a'))).toBe(false);
    expect(readFileSync(join(other, 'file'), 'utf8')).toBe('kept');
  });

  test('refuses as long as something is mounted in it, also the same file system', async () => {
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
});
