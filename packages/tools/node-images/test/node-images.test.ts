import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, mkdtemp, readFile, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Writable } from 'node:stream';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { compileStatic } from '../src/compile.ts';
import { buildImages, busyboxReference, pauseReference } from '../src/node-images.ts';
import { readArchive } from './read-archive.ts';

let dir: string;
let started: ChildProcess[];
beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), 'kubus-images-'));
  started = [];
});
afterEach(async () => {
  for (const child of started.filter(({ exitCode, signalCode }) => exitCode === null && signalCode === null)) {
    child.kill('SIGKILL');
    await once(child, 'exit');
  }
  await rm(dir, { recursive: true, force: true });
});

test('building the images of a node twice gives the same digests', async () => {
  const first = await buildImages(join(dir, 'a'));
  const second = await buildImages(join(dir, 'b'));
  expect(first.map(({ reference }) => reference)).toEqual([busyboxReference, pauseReference]);
  expect(second.map(({ digest }) => digest)).toEqual(first.map(({ digest }) => digest));
});

test('a busybox container finds a shell and every applet', async () => {
  const [busybox] = await buildImages(dir);
  const root = join(dir, 'root');
  await mkdir(root);
  execFileSync('tar', ['-xC', root], { input: readArchive(busybox?.archive ?? '').layer });
  const script = 'id -un; for applet in $(busybox --list); do test -e /bin/$applet || echo no $applet; done';
  const said = execFileSync('chroot', [root, 'sh', '-c', script], { env: { PATH: '/usr/sbin:/bin' } });
  expect(said.toString()).toBe('root\n');
});

describe('the pause program', () => {
  /** Runs it as process 1 of a new PID namespace, like a sandbox; returns its PID in the outer namespace. */
  async function startPause(): Promise<{ unshare: ChildProcess; pause: number }> {
    const program = (await buildImages(dir), await readdir(dir)).find((name) => /^pause-[0-9a-f]+$/.test(name)) ?? '';
    const args = ['--pid', '--fork', '--kill-child', 'sh', '-c', 'echo; exec "$0"', join(dir, program)];
    const unshare = spawn('unshare', args, { stdio: ['ignore', 'pipe', 'inherit'] });
    started.push(unshare);
    await once(unshare.stdout, 'data');
    const [pause = 0] = await childrenOf(unshare.pid ?? 0);
    // It sleeps only while it waits for signals; earlier ones would be lost.
    await until(async () => /^Name:\tpause[^]*^State:\tS/m.test(await readFile(`/proc/${pause}/status`, 'utf8')));
    return { unshare, pause };
  }

  test.each(['SIGTERM', 'SIGINT'] as const)('ends with 0 on %s', async (signal) => {
    const { unshare, pause } = await startPause();
    process.kill(pause, signal);
    expect(await once(unshare, 'exit')).toEqual([0, null]);
  });

  test('reaps the orphans of its process namespace', async () => {
    const { pause } = await startPause();
    // The shells end at once and leave two processes behind, which live as long as the pipe of their input is open.
    const orphans = spawn('nsenter', [`--target=${pause}`, '--pid', 'sh', '-c', 'cat <&3 & cat <&3 & echo'], {
      stdio: ['ignore', 'pipe', 'inherit', 'pipe'],
    });
    started.push(orphans);
    await once(orphans, 'exit');
    expect(await childrenOf(pause)).toHaveLength(2);
    (orphans.stdio[3] as Writable).end();
    await until(async () => (await childrenOf(pause)).length === 0);
  });
});

async function childrenOf(pid: number): Promise<number[]> {
  const children = await readFile(`/proc/${pid}/task/${pid}/children`, 'utf8');
  return children
    .split(' ')
    .filter((child) => child !== '')
    .map(Number);
}

/** Polls a condition for which the kernel has no event; Jest's time limit ends it. */
async function until(condition: () => Promise<boolean>): Promise<void> {
  while (!(await condition())) {
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}

test('a program that does not compile fails with the output of the compiler', async () => {
  const source = join(dir, 'broken.c');
  await writeFile(source, 'int main(void) { return missing; }\n');
  await expect(compileStatic(source, dir)).rejects.toMatchObject({
    code: 'CompileFailed',
    message: expect.stringContaining('missing') as unknown,
  });
});
