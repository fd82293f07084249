import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { mkdir, mkdtemp, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { logUsage } from '../src/logs/log-usage.ts';

let root: string;

beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), 'kubus-log-usage-'));
});
afterEach(() => rm(root, { recursive: true, force: true }));

test('the log usage of a container is that of its folder, under the pod’s name', async () => {
  const folder = join(root, 'default_web_uid-1', 'main');
  await mkdir(folder, { recursive: true });
  const files = [join(folder, '0.log'), join(folder, '0.log.20240101-000000.gz')];
  for (const file of files) await writeFile(file, 'x'.repeat(10_000));
  const blocks = (await Promise.all(files.map((file) => stat(file)))).reduce((sum, one) => sum + one.blocks, 0);
  const gone = join(root, 'default_gone_uid-2', 'main', '0.log');
  expect(
    await logUsage([
      { podUid: 'uid-1', path: files[0] ?? '' },
      { podUid: 'uid-2', path: gone },
    ]),
  ).toEqual([
    { labels: { uid: 'uid-1', namespace: 'default', pod: 'web', container: 'main' }, value: blocks * 512 },
    { labels: { uid: 'uid-2', namespace: 'default', pod: 'gone', container: 'main' }, value: 0 },
  ]);
  expect(blocks).toBeGreaterThan(0);
});
