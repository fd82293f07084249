import { expect, test } from '@jest/globals';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { setTimeout as wait } from 'node:timers/promises';
import { pauseProcess } from '../src/processes/pause.ts';
import { endProcesses, recordOf } from '../src/processes/process-record.ts';
import { afterTest } from './support.ts';

function sleeper(): number {
  const child = spawn('sleep', ['1000'], { stdio: 'ignore' });
  killAfterTest(child);
  return child.pid ?? 0;
}

function killAfterTest(child: ChildProcess): void {
  const exited = once(child, 'exit');
  afterTest(async () => {
    child.kill('SIGKILL');
    await exited;
  });
}

/** Waits until the process is in that state of proc(5): `T` stopped, `S` sleeping. */
async function untilState(pid: number, wanted: string): Promise<void> {
  for (;;) {
    const stat = await readFile(`/proc/${pid}/stat`, 'utf8');
    if (stat.slice(stat.lastIndexOf(')') + 2)[0] === wanted) return;
    await wait(5);
  }
}

test('a process is stopped until its pause ends', async () => {
  const pid = sleeper();
  await untilState(pid, 'S');
  const pause = await pauseProcess(pid);
  await untilState(pid, 'T');
  await pause.end();
  await untilState(pid, 'S');
  await pause.end();
});

test('a process continues when the process that paused it is killed', async () => {
  const pid = sleeper();
  const program = new URL('pausing-launcher.ts', import.meta.url).pathname;
  const launcher = spawn(process.execPath, ['--disable-warning=ExperimentalWarning', program, String(pid)], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  killAfterTest(launcher);
  await once(launcher.stdout, 'data');
  await untilState(pid, 'T');
  launcher.kill('SIGKILL');
  await untilState(pid, 'S');
});

test('a paused process can be terminated gracefully', async () => {
  const pid = sleeper();
  await pauseProcess(pid);
  await untilState(pid, 'T');
  const record = await recordOf(pid, 'sleeper');
  if (record === undefined) throw new Error('the process is not running');
  // SIGKILL would follow only after a time that no test waits for.
  expect(await endProcesses([record], 3_600_000)).toEqual([]);
});

test('pausing a process that has ended fails', async () => {
  const child = spawn('true');
  await once(child, 'exit');
  await expect(pauseProcess(child.pid ?? 0)).rejects.toThrow(/ESRCH/);
});
