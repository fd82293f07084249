// The kernel's notifications about the memory of a control group, with a process that takes some.
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';

import { execFileSync, spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, rmdirSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { MemoryWatch, cgroupMounts } from '../src/index.ts';

const source = fileURLToPath(new URL('../native/memory-watch.c', import.meta.url));
const { version, controllers } = await cgroupMounts();
const ofV1 = version === 1 ? describe : describe.skip;

let dir: string;
let program: string;

beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'kubus-memory-watch-'));
  program = join(dir, 'memory-watch');
  execFileSync('cc', ['-std=c11', '-O2', '-Wall', '-Wextra', '-Werror', '-static', source, '-o', program]);
});
afterEach(() => rmSync(dir, { recursive: true }));

ofV1('with cgroup v1', () => {
  let folder: string;
  beforeEach(() => {
    folder = join(controllers.get('memory') ?? '', basename(dir));
    mkdirSync(folder);
  });
  afterEach(async () => {
    // The kernel lets go of it a moment after its last process has ended.
    const isEmpty = () => readFileSync(join(folder, 'cgroup.procs'), 'utf8') === '';
    while (!isEmpty()) await new Promise(setImmediate);
    rmdirSync(folder);
  });

  /** Takes this many MiB in the group, until it is ended. */
  async function taker(mib: number): Promise<() => Promise<void>> {
    const script = `echo $$ > ${folder}/cgroup.procs; exec "${process.execPath}" -e "const all = Buffer.alloc(${mib} * 2 ** 20, 1); console.log(all.length); setInterval(() => all, 1000)"`;
    const child = spawn('sh', ['-c', script], { stdio: ['ignore', 'pipe', 'inherit'] });
    const closed = new Promise<void>((resolve) => child.once('close', () => resolve()));
    await new Promise((resolve) => child.stdout.once('data', resolve));
    return async () => {
      child.kill('SIGKILL');
      await closed;
    };
  }

  test('usage that grows by what was set is reported once; after that nothing, until it is set again', async () => {
    const failures: string[] = [];
    let reported = Promise.withResolvers<undefined>();
    let times = 0;
    const watch = new MemoryWatch({
      ...{ program, folder, failed: (message) => failures.push(message) },
      reached: () => {
        times += 1;
        reported.resolve(undefined);
      },
    });
    const MI = 2n ** 20n;
    watch.set(1_000n * MI);
    watch.set(20n * MI);
    const stopFirst = await taker(40);
    await reported.promise;
    expect(times).toBe(1);
    reported = Promise.withResolvers();
    watch.set(20n * MI);
    const stopSecond = await taker(40);
    await reported.promise;
    expect([times, failures]).toEqual([2, []]);
    watch.stop();
    await stopFirst();
    await stopSecond();
  });
});

test('a group that is not there is said once', async () => {
  const missing = join(dir, 'missing');
  const failure = await new Promise<string>((failed) => {
    new MemoryWatch({ program, folder: missing, failed, reached: () => undefined });
  });
  expect(failure).toBe(`memory-watch: ${missing}: No such file or directory`);
});
