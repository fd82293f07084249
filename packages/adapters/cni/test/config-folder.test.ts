import { mkdirSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import type { ConfigFile } from '@kubus/cni-config';
import { watchConfigFolder } from '../src/config-folder.ts';
import { afterTest, clock, recordingLogger, temporaryFolder } from './support.ts';

/** Watches and lets a test wait for a state of the folder. */
function watching(folder: string, rereadMs = 1_000_000) {
  let files: readonly ConfigFile[] | undefined;
  let reports = 0;
  let look: () => void = () => undefined;
  const logger = recordingLogger();
  const stop = watchConfigFolder(folder, {
    clock,
    logger,
    rereadMs,
    onFiles: (now) => {
      files = now;
      reports += 1;
      look();
    },
  });
  afterTest(stop);
  return {
    stop,
    log: logger.lines,
    reports: () => reports,
    until: (expected: Record<string, string>) =>
      new Promise<void>((resolve) => {
        const wanted = JSON.stringify(expected);
        look = () => {
          const now = files?.map((file) => [
            file.name,
            'content' in file ? file.content : `! ${/E[A-Z]+/.exec(file.unreadable)?.[0] ?? ''}`,
          ]);
          if (now !== undefined && JSON.stringify(Object.fromEntries(now)) === wanted) {
            resolve();
          }
        };
        look();
      }),
  };
}

test('reports the files at start and after every change, driven by inotify events alone', async () => {
  const folder = temporaryFolder();
  writeFileSync(join(folder, 'b.conflist'), '1');
  writeFileSync(join(folder, 'notes.txt'), 'x');
  const { until } = watching(folder);
  await until({ 'b.conflist': '1' });
  writeFileSync(join(folder, 'a.conf'), '2');
  await until({ 'a.conf': '2', 'b.conflist': '1' });
  writeFileSync(join(folder, 'a.conf'), '3');
  await until({ 'a.conf': '3', 'b.conflist': '1' });
  writeFileSync(join(folder, '.new'), '4');
  renameSync(join(folder, '.new'), join(folder, 'b.conflist'));
  await until({ 'a.conf': '3', 'b.conflist': '4' });
  rmSync(join(folder, 'a.conf'));
  await until({ 'b.conflist': '4' });
});

test('the folder may be missing at first, and be removed and created again', async () => {
  const folder = join(temporaryFolder(), 'net.d');
  const { until } = watching(folder);
  await until({});
  mkdirSync(folder);
  writeFileSync(join(folder, 'a.conf'), '1');
  await until({ 'a.conf': '1' });
  rmSync(folder, { recursive: true });
  await until({});
  mkdirSync(folder);
  writeFileSync(join(folder, 'a.conf'), '2');
  await until({ 'a.conf': '2' });
});

test('the periodic read finds changes without an inotify event', async () => {
  const folder = join(temporaryFolder(), 'a', 'b', 'net.d');
  const { until } = watching(folder, 10);
  await until({});
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, 'a.conf'), '1');
  await until({ 'a.conf': '1' });
});

test('an unreadable file is reported as such; a folder is ignored', async () => {
  const folder = temporaryFolder();
  mkdirSync(join(folder, 'a.conf'));
  symlinkSync('a.conf', join(folder, 'b.conf'));
  const { until } = watching(folder);
  await until({ 'b.conf': '! EISDIR' });
});

test('the last reported files stay in effect while the folder cannot be read', async () => {
  const parent = temporaryFolder();
  const folder = join(parent, 'net.d');
  mkdirSync(folder);
  writeFileSync(join(folder, 'a.conf'), '1');
  const { until, log, reports, stop } = watching(folder, 10);
  await until({ 'a.conf': '1' });
  rmSync(folder, { recursive: true });
  writeFileSync(folder, 'a file in its place');
  await until({ 'a.conf': '1' });
  while (log.length === 0) {
    await new Promise((resolve) => setImmediate(resolve));
  }
  stop();
  expect(log[0]).toBe('the folder of network configurations cannot be read');
  expect(reports()).toBeLessThanOrEqual(2); // Between the two lines above it did not exist for a moment.
});
