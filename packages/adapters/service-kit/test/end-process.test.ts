import { afterEach, expect, test } from '@jest/globals';
import { once } from 'node:events';
import { spawn } from 'node:child_process';
import { TestProcess } from './test-process.ts';

const started: TestProcess[] = [];
afterEach(() => Promise.all(started.splice(0).map((child) => child.kill())));

function start(...args: string[]): TestProcess {
  const child = new TestProcess('ending-process.ts', args);
  started.push(child);
  return child;
}

test.each([0, 1, 137])(
  'a process ends with exit code %d, and its reader gets everything that it has written',
  async (code) => {
    const child = start('code', String(code));
    expect(await child.exited()).toBe(code);
    expect(child.stderr).toBe('');
    expect(child.said).toEqual([{ text: 'x'.repeat(1_000_000) }, { last: true }]);
  },
);

test('a stop that fails is reported, and ends with exit code 1', async () => {
  const child = start('stop-fails');
  expect(await child.exited()).toBe(1);
  expect(child.said).toEqual([{ failed: 'Error: no way' }]);
});

test('a process whose reader does not read ends all the same', async () => {
  const program = new URL('ending-process.ts', import.meta.url).pathname;
  const child = spawn(process.execPath, ['--disable-warning=ExperimentalWarning', program, 'code', '0'], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const [code] = (await once(child, 'exit')) as [number | null];
  expect(code).toBe(0);
  child.stdout.destroy();
});

test('a pipe that other processes share is blocking again', async () => {
  const program = new URL('ending-process.ts', import.meta.url).pathname;
  const flags = 'grep ^flags /proc/self/fdinfo/1 >&2';
  const script = `{ "$0" --disable-warning=ExperimentalWarning "$1" code 0; ${flags}; } | cat >/dev/null`;
  const child = spawn('/bin/sh', ['-c', script, process.execPath, program], { stdio: ['ignore', 'ignore', 'pipe'] });
  let printed = '';
  child.stderr.on('data', (data: Buffer) => (printed += data.toString()));
  await once(child, 'close');
  const O_NONBLOCK = 0o4000;
  expect(parseInt(/flags:\s*(\d+)/.exec(printed)?.[1] ?? '', 8) & O_NONBLOCK).toBe(0);
});
