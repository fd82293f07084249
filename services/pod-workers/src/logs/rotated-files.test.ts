import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { execFileSync } from 'node:child_process';
import {
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { rotateLog } from './rotated-files.ts';

let dir: string;
let path: string;
let seconds: number;

beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'kubus-rotation-'));
  path = join(dir, '0.log');
  seconds = 0;
});
afterEach(() => rmSync(dir, { recursive: true }));

/** Rotates once more, a second after the last time. */
function rotate(reopen: () => Promise<unknown> = () => Promise.resolve(), maxFiles = 3): Promise<void> {
  seconds += 1;
  return rotateLog(path, { maxFiles, now: Date.UTC(2030, 0, 1, 0, 0, seconds), reopen });
}

/** Creates a new file of the old name, as the runtime does. */
const writes = (text: string) => () => {
  writeFileSync(path, text, { flag: 'wx' });
  return Promise.resolve();
};
const rotated = (second: number) => join(dir, `0.log.20300101-00000${second}`);

test('a rotated log is renamed, compressed by the next rotation, and removed when there are too many', async () => {
  writeFileSync(path, 'one', { mode: 0o640 });
  const { mtimeMs } = statSync(path);
  await rotate(writes('two'));
  expect(readFileSync(rotated(1), 'utf8')).toBe('one');
  await rotate(writes('three'));
  expect(readdirSync(dir).sort()).toEqual(['0.log', '0.log.20300101-000001.gz', '0.log.20300101-000002']);
  expect(gunzipSync(readFileSync(`${rotated(1)}.gz`)).toString()).toBe('one');
  expect(statSync(`${rotated(1)}.gz`).mode & 0o777).toBe(0o640);
  expect(statSync(`${rotated(1)}.gz`).mtimeMs).toBeCloseTo(mtimeMs, -1);
  await rotate(writes('four'));
  expect(readdirSync(dir).sort()).toEqual(['0.log', '0.log.20300101-000002.gz', '0.log.20300101-000003']);
  expect(readFileSync(path, 'utf8')).toBe('four');
});

test('a log gets its name back when the runtime does not open a new one', async () => {
  writeFileSync(path, 'one');
  await expect(rotate(() => Promise.reject(new Error('it does not run')))).rejects.toThrow('it does not run');
  expect(readdirSync(dir)).toEqual(['0.log']);
  expect(readFileSync(path, 'utf8')).toBe('one');
});

test('nothing is lost when the runtime has opened a new log and its answer was lost', async () => {
  writeFileSync(path, 'one');
  const lost = async () => {
    await writes('two')();
    throw new Error('lost');
  };
  await expect(rotate(lost)).rejects.toThrow('lost');
  expect([readFileSync(rotated(1), 'utf8'), readFileSync(path, 'utf8')]).toEqual(['one', 'two']);
});

test('leftovers of an interrupted compression are removed', async () => {
  writeFileSync(path, 'three');
  writeFileSync(`${rotated(0)}.tmp`, 'half');
  writeFileSync(rotated(0), 'two');
  await rotate(writes('four'));
  expect(gunzipSync(readFileSync(`${rotated(0)}.gz`)).toString()).toBe('two');
  expect(existsSync(`${rotated(0)}.tmp`)).toBe(false);
});

test('a log that is removed during a rotation is not an error, and is not created again', async () => {
  writeFileSync(path, 'two');
  writeFileSync(rotated(0), 'one');
  const removed = async () => {
    await writes('three')();
    renameSync(rotated(0), join(dir, 'elsewhere'));
  };
  await rotate(() => removed());
  expect(readdirSync(dir).sort()).toEqual(['0.log', '0.log.20300101-000001', 'elsewhere']);
});

test('what a container has put there under such names is neither compressed nor opened, and stops no rotation', async () => {
  writeFileSync(join(dir, 'of-the-host'), 'secret');
  execFileSync('mkfifo', [rotated(1)]);
  symlinkSync('of-the-host', rotated(2));
  mkdirSync(rotated(3));
  symlinkSync('of-the-host', `${rotated(5)}.tmp`);
  seconds = 4;
  writeFileSync(path, 'one');
  await rotate(writes('two'));
  await rotate(writes('three'));
  expect(gunzipSync(readFileSync(`${rotated(5)}.gz`)).toString()).toBe('one');
  expect([readFileSync(rotated(6), 'utf8'), readFileSync(path, 'utf8')]).toEqual(['two', 'three']);
  expect([readFileSync(join(dir, 'of-the-host'), 'utf8'), existsSync(`${rotated(2)}.gz`)]).toEqual(['secret', false]);
  expect(lstatSync(rotated(1)).isFIFO()).toBe(true);
});
