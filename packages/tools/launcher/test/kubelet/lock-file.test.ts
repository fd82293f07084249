import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { compileStatic } from '@kubus/node-images';
import { mkdtemp, open, rm } from 'node:fs/promises';
import { homedir, tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type FileLock, lockFile } from '../../src/kubelet/lock-file.ts';

const source = fileURLToPath(new URL('../../native/hold-lock.c', import.meta.url));
const cache = join(process.env['XDG_CACHE_HOME'] ?? join(homedir(), '.cache'), 'kubus');

let folder: string;
const locks: FileLock[] = [];

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'kubus-lock-'));
});
afterEach(async () => {
  for (const lock of locks.splice(0)) lock.release();
  await rm(folder, { recursive: true });
});

async function take(path: string, onContention: () => void = () => undefined): Promise<FileLock> {
  const lock = await lockFile({ path, program: await compileStatic(source, cache), onContention });
  locks.push(lock);
  return lock;
}

test('the holder of the lock is notified when another process wants it, which gets it afterwards', async () => {
  const path = join(folder, 'lock');
  const contended = Promise.withResolvers<undefined>();
  const first = await take(path, () => contended.resolve(undefined));
  const second = take(path);
  await contended.promise;
  first.release();
  await second;
});

test('the holder is notified when another process only opens the file', async () => {
  const path = join(folder, 'lock');
  const contended = Promise.withResolvers<undefined>();
  await take(path, () => contended.resolve(undefined));
  await (await open(path)).close();
  await contended.promise;
});

test('a lock file that cannot be created is an error with its path', async () => {
  const path = join(folder, 'none/lock');
  await expect(take(path)).rejects.toThrow(
    `unable to acquire file lock on "${path}" (--lock-file): ${path}: No such file or directory`,
  );
});
