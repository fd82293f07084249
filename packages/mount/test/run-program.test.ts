import { expect, test } from '@jest/globals';
import { existsSync } from 'node:fs';
import { runProgram } from '../src/run-program.ts';

const sh = (script: string, limitMs = 60_000) => runProgram(['sh', '-c', script], limitMs);

test('a program that ends says what it has said, and how', async () => {
  expect(await sh('echo out; echo err >&2; exit 3')).toEqual({
    code: 3,
    stdout: 'out\n',
    stderr: 'err\n',
    timedOut: false,
  });
  expect(await runProgram(['/no/such/program'], 60_000)).toMatchObject({ code: 127, timedOut: false });
});

test('one that takes too long is killed with all that it has started', async () => {
  const { stdout, ...rest } = await sh('sleep 1000 & echo $!; sleep 1000', 500);
  expect(rest).toEqual({ code: undefined, stderr: '', timedOut: true });
  const state = `/proc/${Number(stdout)}`;
  while (existsSync(state)) await new Promise(setImmediate);
});

test('what it leaves behind is not waited for', async () => {
  const { code, stdout } = await sh('sleep 1000 & echo $!');
  expect(code).toBe(0);
  process.kill(Number(stdout), 'SIGKILL');
});
