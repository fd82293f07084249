import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Health } from '../src/health.ts';
import { MachineLimits } from '../src/machine-limits.ts';

let dir: string;
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'kubus-machine-limits-'));
  execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=256k', 'kubus-test', dir]);
});
afterEach(() => {
  execFileSync('umount', [dir]);
  rmSync(dir, { recursive: true });
});

test('a read-only and a full disk are named in the health and once in the log, and so is their end', () => {
  const health = new Health();
  const said: string[] = [];
  const say = (_: object, message: string) => void said.push(message);
  const logger = { debug: say, info: say, warn: say, error: say, child: () => logger };
  const limits = new MachineLimits({ stateDir: dir, health, logger });
  const disk = () => {
    limits.look();
    return health.report('ready').checks['disk'];
  };
  expect(disk()).toBe('ok');
  execFileSync('mount', ['-o', 'remount,ro', dir]);
  const readOnly = disk();
  expect(readOnly).toMatch(`${dir} is on a file system that is read-only (EROFS): see "dmesg"`);
  expect(disk()).toBe(readOnly);
  expect(health.report('live').ok).toBe(true);
  execFileSync('mount', ['-o', 'remount,rw', dir]);
  expect(disk()).toBe('ok');
  writeFileSync(join(dir, 'filler'), Buffer.alloc(224 * 1024));
  expect(disk()).toBe(`the disk of ${dir} is full (ENOSPC): make room on it`);
  rmSync(join(dir, 'filler'));
  expect(disk()).toBe('ok');
  const again = 'what was missing of the machine is there again';
  expect(said).toEqual([readOnly, again, `the disk of ${dir} is full (ENOSPC): make room on it`, again]);
  expect(readdirSync(dir)).toEqual([]);
});
