// A path that a container can influence leads to a regular file, or to an error at once.
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { execFileSync } from 'node:child_process';
import { lstatSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { type Server, createServer } from 'node:net';
import { once } from 'node:events';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createRegular, filesIn, openRegular, readRegular, readWithin, replaceRegular } from '../src/index.ts';

let dir: string;
const servers: Server[] = [];

beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'kubus-open-'));
  writeFileSync(join(dir, 'other'), 'of another');
});
afterEach(() => {
  for (const server of servers.splice(0)) server.close();
  rmSync(dir, { recursive: true });
});

/** Everything that a container could put in a file's place. */
const others: Readonly<Record<string, (path: string) => unknown>> = {
  'a pipe': (path) => execFileSync('mkfifo', [path]),
  'a link to a file': (path) => symlinkSync('other', path),
  'a link to nothing': (path) => symlinkSync('nothing', path),
  'a link to itself': (path) => symlinkSync('it', path),
  'a folder': (path) => mkdirSync(path),
  'a device': (path) => execFileSync('mknod', [path, 'c', '1', '3']),
  'a socket': async (path) => {
    const server = createServer().listen(path);
    servers.push(server);
    await once(server, 'listening');
  },
};

describe.each(Object.keys(others))('%s', (kind) => {
  let path: string;
  beforeEach(async () => {
    path = join(dir, 'it');
    await others[kind]?.(path);
  });

  test('is not opened, and blocks nothing', async () => {
    // More than there are threads for files.
    const opened = await Promise.allSettled(Array.from({ length: 8 }, () => openRegular(path)));
    expect(opened.map((one) => one.status)).toEqual(Array.from({ length: 8 }, () => 'rejected'));
    await expect(readRegular(path, { limit: 10 })).rejects.toThrow(`${path} is not a regular file`);
    await expect(createRegular(path, 0o600)).rejects.toThrow('EEXIST');
    expect(await readFile(join(dir, 'other'), 'utf8')).toBe('of another');
  });

  test('is not among the files of its folder', async () => {
    expect(await filesIn(dir)).toEqual(['other']);
  });

  if (kind !== 'a folder') {
    test('is replaced, not written to', async () => {
      await others[kind]?.(`${path}.part`);
      await replaceRegular(path, 'new', 0o644);
      expect([lstatSync(path).isFile(), readFileSync(path, 'utf8')]).toEqual([true, 'new']);
      expect(readFileSync(join(dir, 'other'), 'utf8')).toBe('of another');
    });
  }
});

test('a regular file is read from either end, and no more of it', async () => {
  expect((await readRegular(join(dir, 'other'), { limit: 2 }))?.toString()).toBe('of');
  expect((await readRegular(join(dir, 'other'), { limit: 7, end: 'last' }))?.toString()).toBe('another');
  expect((await readRegular(join(dir, 'other'), { limit: 100 }))?.toString()).toBe('of another');
  expect(await readRegular(join(dir, 'none'), { limit: 100 })).toBeUndefined();
});

test('a device in a volume is not opened for its content', async () => {
  execFileSync('mknod', [join(dir, 'device'), 'c', '1', '5']);
  await expect(readWithin(dir, 'device', { limit: 10 })).rejects.toMatchObject({ code: 'not-readable' });
});
