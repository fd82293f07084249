import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { access, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import type { NodeDir } from '../src/node/node-dir.ts';
import {
  type ProcessRecord,
  endProcesses,
  findProcesses,
  isRunning,
  nodeMark,
  parseStat,
  readRecords,
  recordOf,
} from '../src/processes/process-record.ts';
import { type StartedProcess, startProcess } from '../src/processes/start-process.ts';
import { afterTest, testNode } from './support.ts';

async function start(dir: NodeDir, what: string, script: string): Promise<StartedProcess> {
  const started = await startProcess({ dir, what, command: ['sh', '-c', script], log: join(dir.logs, `${what}.log`) });
  afterTest(() => endProcesses([started.record], 0));
  return started;
}

/** Resolves when the script has written the file. */
async function written(file: string): Promise<string> {
  for (;;) {
    const content = await readFile(file, 'utf8').catch(() => '');
    if (content.endsWith('\n')) {
      return content;
    }
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}

test('/proc/<pid>/stat is parsed whatever the name of the process contains', () => {
  const rest = (state: string) => `${state} 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 4711 20 21`;
  fc.assert(
    fc.property(fc.string(), (name) => {
      expect(parseStat(`42 (${name}) ${rest('S')}`)).toEqual({ name, startTime: 4711 });
      expect(parseStat(`42 (${name}) ${rest('Z')}`)).toBeUndefined();
    }),
  );
});

describe('a started process', () => {
  test('is recorded while it is running, and its output is kept', async () => {
    const dir = await testNode();
    const ready = join(dir.root, 'ready');
    const script = `echo to stdout; echo to stderr >&2; echo > ${ready}; exec sleep 1000`;
    const { record, exited } = await start(dir, 'service', script);
    await written(ready);
    expect(await readRecords(dir.processes)).toEqual([record]);
    expect(await isRunning(record)).toBe(true);
    expect(await endProcesses([record], 10_000)).toEqual([]);
    expect(await exited).toBe('SIGTERM');
    expect(await readRecords(dir.processes)).toEqual([]);
    expect(await readFile(join(dir.logs, 'service.log'), 'utf8')).toBe('to stdout\nto stderr\n');
  });

  test('has no record any more when its end is reported, so that the record of the next process is kept', async () => {
    const dir = await testNode();
    const { record, exited } = await start(dir, 'service', 'exec sleep 1000');
    await Promise.all([exited, endProcesses([record], 10_000)]);
    // A removal that is still running would find the record of the next process.
    await expect(access(join(dir.processes, 'service.json'))).rejects.toMatchObject({ code: 'ENOENT' });
  });

  test('is the leader of its own session', async () => {
    const dir = await testNode();
    const { record } = await start(dir, 'service', 'exec sleep 1000');
    const stat = await readFile(`/proc/${record.pid}/stat`, 'utf8');
    expect(stat.split(') ')[1]?.split(' ')[3]).toBe(String(record.pid));
  });

  test('that cannot be run is reported with the name of the program', async () => {
    const dir = await testNode();
    const attempt = startProcess({ dir, what: 'x', command: ['/no/such/program'], log: join(dir.logs, 'x') });
    await expect(attempt).rejects.toMatchObject({
      code: 'StartFailed',
      message: expect.stringContaining('/no/such/program') as unknown,
    });
  });
});

describe('the processes of a node', () => {
  test('are found by their mark with all their children, even if not recorded', async () => {
    const dir = await testNode();
    const other = await testNode();
    const { record } = await start(dir, 'service', `sleep 1000 & echo $! > ${dir.logs}/child; wait`);
    await start(other, 'service', 'exec sleep 1000');
    const child = Number(await written(join(dir.logs, 'child')));
    const found = await findProcesses(dir.root, dir.processes);
    expect(found.map(({ what, pid }) => ({ what, pid })).sort((a, b) => a.what.localeCompare(b.what))).toEqual([
      { what: 'service', pid: record.pid },
      { what: 'sleep', pid: child },
    ]);
    await endProcesses(found, 10_000);
    expect(await findProcesses(dir.root, dir.processes)).toEqual([]);
  });

  test('are found after their launcher was killed', async () => {
    const dir = await testNode();
    const launcher = spawn(
      process.execPath,
      [fileURLToPath(new URL('killed-launcher.ts', import.meta.url)), dir.node],
      {
        stdio: ['ignore', 'pipe', 'inherit'],
        env: { ...process.env, KUBUS_TEST_ROOT: dir.root, KUBUS_TEST_RUN: dir.run },
      },
    );
    await once(launcher.stdout, 'data');
    launcher.kill('SIGKILL');
    await once(launcher, 'exit');
    const found = await findProcesses(dir.root, dir.processes);
    expect(found.map(({ what }) => what)).toEqual(['orphan']);
    expect(await endProcesses(found, 10_000)).toEqual([]);
  });
});

describe('ending a process', () => {
  test('kills a process that ignores SIGTERM after the grace period', async () => {
    const dir = await testNode();
    const { record, exited } = await start(
      dir,
      'stubborn',
      `trap '' TERM; echo > ${dir.logs}/ready; while :; do sleep 1000; done`,
    );
    await written(join(dir.logs, 'ready'));
    await endProcesses([record], 50);
    expect(await exited).toBe('SIGKILL');
    await endProcesses(await findProcesses(dir.root, dir.processes), 0);
  });

  test('does not signal a process that has reused a recorded PID', async () => {
    const dir = await testNode();
    const { record } = await start(dir, 'service', 'exec sleep 1000');
    const stale: ProcessRecord[] = [
      { ...record, startTime: record.startTime - 1 },
      { ...record, bootId: 'another boot' },
    ];
    expect(await endProcesses(stale, 0)).toEqual([]);
    expect(await isRunning(record)).toBe(true);
  });

  test('counts a zombie as ended', async () => {
    const dir = await testNode();
    const parent = await start(dir, 'parent', `sleep 0 & echo $! > ${dir.logs}/child; exec sleep 1000`);
    const child = Number(await written(join(dir.logs, 'child')));
    while ((await recordOf(child, 'child')) !== undefined) {
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
    await access(`/proc/${child}`);
    expect(await findProcesses(dir.root, dir.processes)).toEqual([parent.record]);
  });
});

test('a record that was truncated by a crash is ignored', async () => {
  const dir = await testNode();
  await writeFile(join(dir.processes, 'half.json'), '{"what":"half","pi');
  expect(await readRecords(dir.processes)).toEqual([]);
});

test('the calling process is not a process of the node', async () => {
  const dir = await testNode();
  process.env[nodeMark] = dir.root;
  try {
    expect(await findProcesses(dir.root, dir.processes)).toEqual([]);
  } finally {
    Reflect.deleteProperty(process.env, nodeMark);
  }
});
