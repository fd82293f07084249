import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { silentLogger } from '@kubus/ports';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, open, readFile, readdir, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ProcessLogRotation } from '../src/node/log-rotation.ts';

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'kubus-logs-'));
});
afterEach(() => rm(folder, { recursive: true, force: true }));

const rotation = () =>
  new ProcessLogRotation({ folders: [folder, join(folder, 'none')], logger: silentLogger, limit: 100 });

/** Lets a process that keeps its log open append a line. */
async function append(log: string) {
  const file = await open(log, 'a');
  const child = spawn('cat', [], { stdio: ['pipe', file.fd, 'ignore'] });
  await file.close();
  const { stdin } = child;
  if (stdin === null) throw new Error('cat has no standard input');
  return {
    line: async (text: string) => {
      const before = (await stat(log)).size;
      stdin.write(`${text}\n`);
      while ((await stat(log)).size === before) await new Promise(setImmediate);
    },
    end: async () => {
      stdin.end();
      await once(child, 'exit');
    },
  };
}

test('a log above the limit becomes the log before, and its process goes on in an empty one', async () => {
  const log = join(folder, 'service.log');
  const service = await append(log);
  await service.line('a'.repeat(100));
  await rotation().look();
  await service.line('b');
  expect(await readFile(log, 'utf8')).toBe('b\n');
  expect(await readFile(`${log}.1`, 'utf8')).toBe(`${'a'.repeat(100)}\n`);
  await service.line('c'.repeat(100));
  await rotation().look();
  await service.end();
  expect(await readFile(`${log}.1`, 'utf8')).toBe(`b\n${'c'.repeat(100)}\n`);
  expect((await readdir(folder)).sort()).toEqual(['service.log', 'service.log.1']);
});

test('a log below the limit, and a file that is no log, stay', async () => {
  for (const name of ['short.log', 'long.json']) {
    const file = await open(join(folder, name), 'w');
    await file.write('a'.repeat(name === 'short.log' ? 100 : 1_000));
    await file.close();
  }
  await rotation().look();
  expect((await readdir(folder)).sort()).toEqual(['long.json', 'short.log']);
});

test('a folder that cannot be read is logged, and the others are looked at', async () => {
  const log = join(folder, 'service.log');
  await writeFile(log, 'a'.repeat(101));
  const warned: unknown[] = [];
  const logger = { ...silentLogger, warn: (fields: unknown) => void warned.push(fields) };
  await new ProcessLogRotation({ folders: [log, folder], logger, limit: 100 }).look();
  expect(warned).toEqual([{ folder: log, err: expect.objectContaining({ code: 'ENOTDIR' }) }]);
  expect((await readdir(folder)).sort()).toEqual(['service.log', 'service.log.1']);
});
