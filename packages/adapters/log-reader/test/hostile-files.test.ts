import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type LogView, printLog } from '../src/index.ts';

let dir: string;
let path: string;
let written: string;

beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'kubus-log-'));
  path = join(dir, '0.log');
  written = '';
});
afterEach(() => rmSync(dir, { recursive: true }));

const view = (): LogView => ({
  tail: Number.POSITIVE_INFINITY,
  sinceNanos: undefined,
  limitBytes: Number.POSITIVE_INFINITY,
  timestamps: false,
  prefix: '',
  write: (bytes) => void (written += Buffer.from(bytes).toString()),
});

describe('what a container has put into the folder of its logs', () => {
  const line = '2030-01-01T00:00:00Z stdout F own\n';

  test.each([
    ['a pipe', () => execFileSync('mkfifo', [path])],
    ['a link', () => symlinkSync('/etc/hostname', path)],
  ])('%s in place of the log is not read, and blocks nothing', async (_, put) => {
    put();
    // More than there are threads for files.
    const read = await Promise.allSettled(Array.from({ length: 8 }, () => printLog(path, view())));
    expect(read.map((one) => one.status)).toEqual(Array.from({ length: 8 }, () => 'rejected'));
    await expect(printLog(path, view())).rejects.toThrow(
      `the log ${path} cannot be read: ${path} is not a regular file`,
    );
    expect(written).toBe('');
  });

  test('and looks like a rotated log is passed over', async () => {
    writeFileSync(path, line);
    execFileSync('mkfifo', [`${path}.20300101-000000`]);
    symlinkSync('/etc/hostname', `${path}.20300101-000001`);
    mkdirSync(`${path}.20300101-000002.gz`);
    await printLog(path, view());
    expect(written).toBe('own\n');
  });
});
