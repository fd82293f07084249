import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { chmod, mkdtemp, readFile, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { writePrivate } from '../src/certificate-store.ts';

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'kubus-certificates-'));
});
afterEach(() => rm(folder, { recursive: true, force: true }));

test.each([
  ['its owner only', 0o755, 0o600],
  ['its group too, in a set-group-ID folder', 0o2750, 0o640],
])('a secret is readable by %s', async (_, folderMode, fileMode) => {
  await chmod(folder, folderMode);
  const path = join(folder, 'kubeconfig');
  for (const text of ['first', 'second']) {
    await writePrivate(path, text);
    expect(await readFile(path, 'utf8')).toBe(text);
    expect((await stat(path)).mode & 0o777).toBe(fileMode);
  }
});

test('a missing folder is created, and a secret in it is readable by its owner only', async () => {
  const path = join(folder, 'pki/key.pem');
  await writePrivate(path, 'key');
  expect((await stat(path)).mode & 0o777).toBe(0o600);
});
