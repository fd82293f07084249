import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { type Clock, silentLogger } from '@kubus/ports';
import { mkdtempSync, readdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { LogRotation, type RunningLog } from './log-rotation.ts';

/** The time from one check to the next; the next does not start before the previous one has ended. */
class Ticks implements Clock {
  #action: (() => void) | undefined;
  #over: () => void = () => undefined;
  #now = Date.UTC(2030, 0, 1);

  now(): number {
    return this.#now;
  }

  after(ms: number, action: () => void): () => void {
    expect(ms).toBe(10_000);
    this.#action = action;
    this.#over();
    return () => (this.#action = undefined);
  }

  /** Runs one check. */
  next(): Promise<void> {
    return new Promise((resolve) => {
      this.#now += 10_000;
      this.#over = resolve;
      const action = this.#action;
      this.#action = undefined;
      action?.();
    });
  }

  get waits(): boolean {
    return this.#action !== undefined;
  }
}

let dir: string;
let clock: Ticks;
let reopened: string[];
let failure: Error | undefined;
let running: RunningLog[];
let rotation: LogRotation;

beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'kubus-rotation-'));
  clock = new Ticks();
  reopened = [];
  failure = undefined;
  running = ['a', 'b', 'c'].map((name) => ({ podUid: 'u', containerId: name, path: join(dir, `${name}.log`) }));
  const reopen = ({ containerId, path }: RunningLog) => {
    if (failure !== undefined) return Promise.reject(failure);
    reopened.push(containerId);
    writeFileSync(path, '', { flag: 'a' });
    return Promise.resolve();
  };
  const settings = { maxSize: 10, maxFiles: 3, monitorEveryMs: 10_000, workers: 2 };
  rotation = new LogRotation({ clock, logger: silentLogger, logs: () => running, reopen, settings });
});
afterEach(() => {
  rotation.stop();
  rmSync(dir, { recursive: true });
});

const write = (name: string, bytes: number) => writeFileSync(join(dir, `${name}.log`), 'x'.repeat(bytes));

test('only logs that have reached the size are rotated', async () => {
  write('a', 9);
  write('b', 10);
  write('c', 11);
  await clock.next();
  expect(reopened.sort()).toEqual(['b', 'c']);
  expect(readdirSync(dir).sort()).toEqual([
    'a.log',
    'b.log',
    'b.log.20300101-000010',
    'c.log',
    'c.log.20300101-000010',
  ]);
  await clock.next();
  expect(reopened).toHaveLength(2);
});

test('logs of stopped containers are not rotated', async () => {
  write('a', 99);
  running = [];
  await clock.next();
  expect(readdirSync(dir)).toEqual(['a.log']);
});

test('a missing log is opened again, such as after an interrupted rotation', async () => {
  write('a', 10);
  running = running.slice(0, 1);
  renameSync(join(dir, 'a.log'), join(dir, 'a.log.20300101-000000'));
  await clock.next();
  expect(reopened).toEqual(['a']);
  expect(readdirSync(dir).sort()).toEqual(['a.log', 'a.log.20300101-000000']);
});

test('a log that cannot be rotated does not affect others, and is retried', async () => {
  for (const name of ['a', 'b']) write(name, 10);
  failure = new Error('it does not run');
  await clock.next();
  expect(rotation.failing).toBe(3);
  expect(readdirSync(dir).sort()).toEqual(running.slice(0, 2).map(({ path }) => basename(path)));
  failure = undefined;
  await clock.next();
  expect([rotation.failing, reopened.sort()]).toEqual([0, ['a', 'b', 'c']]);
});

test('it ends', async () => {
  await clock.next();
  rotation.stop();
  expect(clock.waits).toBe(false);
});
