import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { readWithin } from '../src/index.ts';

let dir: string;
const limit = 10;

beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'kubus-within-'));
  mkdirSync(join(dir, 'volume/a'), { recursive: true });
  writeFileSync(join(dir, 'volume/a/file'), 'text');
  writeFileSync(join(dir, 'secret'), 'text');
});
afterEach(() => rmSync(dir, { recursive: true }));

test('a file is read, also through links that stay inside', async () => {
  symlinkSync('a/file', join(dir, 'volume/link'));
  symlinkSync(join(dir, 'volume'), join(dir, 'other'));
  for (const [folder, path] of [
    ['volume', 'a/file'],
    ['volume', 'link'],
    ['other', 'link'],
  ] as const) {
    expect(await readWithin(join(dir, folder), path, { limit })).toBe('text');
  }
});

test('a file outside is refused, however it is named', async () => {
  symlinkSync('../secret', join(dir, 'volume/link'));
  symlinkSync(dir, join(dir, 'volume/up'));
  for (const path of ['link', 'up/secret', '../secret']) {
    await expect(readWithin(join(dir, 'volume'), path, { limit })).rejects.toMatchObject({ code: 'not-within' });
  }
});

test('anything but a regular file, too large a file, or a missing one is refused at once', async () => {
  execFileSync('mkfifo', [join(dir, 'volume/pipe')]);
  writeFileSync(join(dir, 'volume/large'), 'x'.repeat(limit + 1));
  for (const path of ['pipe', 'a', 'large']) {
    await expect(readWithin(join(dir, 'volume'), path, { limit })).rejects.toMatchObject({ code: 'not-readable' });
  }
  await expect(readWithin(join(dir, 'volume'), 'none', { limit })).rejects.toMatchObject({ code: 'ENOENT' });
});
