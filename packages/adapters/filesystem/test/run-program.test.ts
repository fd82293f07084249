import { expect, test } from '@jest/globals';
import { existsSync } from 'node:fs';
import { runProgram } from '../src/run-program.ts';

const sh = (script: string, limitMs = 60_000) => runProgram(['sh', '-c', script], limitMs);

test('a program that ends is reported with its output and status', async () => {
  expect(await sh('echo out; echo err >&2; exit 3')).toEqual({
    code: 3,
    stdout: 'out\n',
    stderr: 'err\n',
    timedOut: false,
  });
  expect(await runProgram(['/no/such/program'], 60_000)).toMatchObject({ code: 127, timedOut: false });
});

test('a program that exceeds its time limit is killed with its children', async () => {
  const { stdout, ...rest } = await sh('sleep 1000 & echo $!; sleep 1000', 500);
  expect(rest).toEqual({ code: undefined, stderr: '', timedOut: true });
  const state = `/proc/${Number(stdout)}`;
  while (existsSync(state)) await new Promise(setImmediate);
});

test('processes that a program leaves behind are not awaited', async () => {
  const { code, stdout } = await sh('sleep 1000 & echo $!');
  expect(code).toBe(0);
  process.kill(Number(stdout), 'SIGKILL');
});
