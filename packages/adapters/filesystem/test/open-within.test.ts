import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  chmodSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  realpathSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { WithinError, openWithin } from '../src/index.ts';

let dir: string;
let folder: string;
let outside: string;
beforeEach(() => {
  dir = realpathSync(mkdtempSync(join(tmpdir(), 'kubus-within-')));
  [folder, outside] = [join(dir, 'folder'), join(dir, 'outside')];
  for (const one of [folder, outside]) {
    mkdirSync(join(one, 'a'), { recursive: true });
    writeFileSync(join(one, 'a/file'), one);
  }
});
afterEach(() => rmSync(dir, { recursive: true }));

/** The inode that was opened. */
async function inodeAt(path: string): Promise<number> {
  const held = await openWithin(folder, path);
  const { ino } = await held.stat();
  await held.close();
  return ino;
}
const inode = (path: string) => lstatSync(join(folder, path)).ino;

test.each([
  ['a folder', 'a', 'a'],
  ['a file', 'a/file', 'a/file'],
  ['the folder itself', '', '.'],
  ['a path with empty parts', './a//file', 'a/file'],
  ['a link beside it', 'beside', 'a/file'],
  ['a link through the parent folder', 'a/round', 'a'],
  ['an absolute link', 'absolute/file', 'a/file'],
])('opens %s', async (_, path, expected) => {
  symlinkSync('a/file', join(folder, 'beside'));
  symlinkSync('../a', join(folder, 'a/round'));
  symlinkSync(join(folder, 'a'), join(folder, 'absolute'));
  expect(await inodeAt(path)).toBe(inode(expected));
});

test.each([
  ['a relative link out', 'up/a/file', 'not-within', 'the path leaves its folder'],
  ['an absolute link out', 'etc/passwd', 'not-within', 'the path leaves its folder'],
  ['a link to a sibling with the same name prefix', 'alike', 'not-within', 'the path leaves its folder'],
  ['two dots', 'a/../../outside', 'not-within', 'the path leaves its folder'],
  ['an absolute path', '/etc', 'not-within', 'the path leaves its folder'],
  ['a missing folder behind a link to the outside', 'up/a/made', 'not-within', 'the path leaves its folder'],
  ['a link to nothing', 'nothing/made', 'linked', 'a part of the path is a link'],
  ['a file as a folder', 'a/file/in', 'not-opened', 'the path cannot be opened: ENOTDIR'],
  ['a link to itself', 'itself', 'not-opened', 'the path cannot be opened: ELOOP'],
])('refuses %s, without naming the path', async (_, path, code, message) => {
  mkdirSync(`${folder}-alike`);
  symlinkSync('../outside', join(folder, 'up'));
  symlinkSync('/etc', join(folder, 'etc'));
  symlinkSync(`${folder}-alike`, join(folder, 'alike'));
  symlinkSync('missing', join(folder, 'nothing'));
  symlinkSync('itself', join(folder, 'itself'));
  const error = await openWithin(folder, path).catch((thrown: unknown) => thrown);
  expect(error).toBeInstanceOf(WithinError);
  const { code: said, message: text, cause } = error as WithinError;
  expect([said, text, cause]).toEqual([code, message, undefined]);
  expect((error as WithinError).making).toBe(path.endsWith('made'));
  expect(readdirSync(outside)).toEqual(['a']);
  expect(readdirSync(join(outside, 'a'))).toEqual(['file']);
});

test('creates missing folders with the mode of the folder, and keeps existing ones', async () => {
  chmodSync(folder, 0o3771);
  const umask = process.umask(0o077);
  try {
    expect(await inodeAt('a/b/c')).toBe(inode('a/b/c'));
    expect(await inodeAt('a/b/c')).toBe(inode('a/b/c'));
  } finally {
    process.umask(umask);
  }
  for (const made of ['a/b', 'a/b/c']) expect(statSync(join(folder, made)).mode).toBe(0o43771);
  expect(statSync(join(folder, 'a')).mode).toBe(0o40755);
});

test('opens and creates nothing outside while others replace a folder by a link', async () => {
  const swap = `
    const { renameSync, rmSync, symlinkSync, unlinkSync } = require('node:fs');
    process.chdir(${JSON.stringify(folder)});
    // While there is neither folder nor link, folders may be created instead.
    const retry = (act) => {
      for (;;) {
        try {
          return act();
        } catch {
          try {
            rmSync('a', { recursive: true, force: true });
          } catch {}
        }
      }
    };
    const turn = () => {
      for (let i = 0; i < 200; i++) {
        renameSync('a', 'hidden');
        retry(() => symlinkSync(${JSON.stringify(join(outside, 'a'))}, 'a'));
        unlinkSync('a');
        retry(() => renameSync('hidden', 'a'));
      }
      setImmediate(turn);
    };
    turn();
    process.stdout.write('swapping');`;
  const other = spawn(process.execPath, ['-e', swap], { stdio: ['ignore', 'pipe', 'inherit'] });
  const ended = once(other, 'exit');
  try {
    await once(other.stdout, 'data');
    const mine = statSync(join(outside, 'a/file')).ino;
    const seen = new Map<string, number>();
    for (let i = 0; i < 4_000 || (!seen.has('linked') && i < 60_000); i++) {
      const outcome = await inodeAt(i % 2 === 0 ? 'a/file' : `a/made-${i}`).then(
        (ino) => (ino === mine ? 'outside' : 'inside'),
        (error: unknown) => (error instanceof WithinError ? error.code : 'unknown'),
      );
      seen.set(outcome, (seen.get(outcome) ?? 0) + 1);
    }
    expect(other.exitCode).toBeNull();
    expect([...seen.keys()]).toEqual(expect.arrayContaining(['inside', 'not-within', 'linked']));
    expect([...seen.keys()]).not.toContain('outside');
    expect([...seen.keys()]).not.toContain('unknown');
    expect(readdirSync(join(outside, 'a'))).toEqual(['file']);
  } finally {
    other.kill('SIGKILL');
    await ended;
  }
});
