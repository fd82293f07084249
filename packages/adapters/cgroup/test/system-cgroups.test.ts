// Programs that are not pods, in the machine's own hierarchies. A cgroup of the test stands for the topmost one.
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { type ChildProcess, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  type CgroupMounts,
  cgroupMounts,
  cgroupOf,
  cgroupTree,
  emptyRootCgroup,
  moveProcesses,
  removeFolders,
} from '../src/index.ts';

const machine = await cgroupMounts();
let root: string;
let children: ChildProcess[];
beforeEach(() => {
  root = `/kubus-test-${process.pid}-${randomBytes(3).toString('hex')}`;
  children = [];
});
afterEach(async () => {
  await Promise.all(
    children.map(async (child) => {
      const ended = once(child, 'exit');
      child.kill('SIGKILL');
      await ended;
    }),
  );
  expect(await removeFolders(await cgroupTree(root))).toBeUndefined();
});

async function started(): Promise<number> {
  const child = spawn('sleep', ['infinity'], { stdio: 'ignore' });
  children.push(child);
  await once(child, 'spawn');
  return child.pid ?? NaN;
}

/** The cgroups of a process in the hierarchies of the controllers. */
function cgroupsOf(pid: number): Set<string> {
  const lines = readFileSync(`/proc/${pid}/cgroup`, 'utf8').trim().split('\n');
  const counted = machine.version === 1 ? lines.filter((line) => !line.startsWith('0:')) : lines;
  return new Set(counted.map((line) => line.replace(/^\d+:[^:]*:/, '')));
}

test('processes are moved in every hierarchy, also where one of them has ended', async () => {
  const pid = await started();
  await moveProcesses(machine, `${root}/agent`, [2 ** 22 + 1, pid]);
  expect([...cgroupsOf(pid)]).toEqual([`${root}/agent`]);
  expect(await cgroupOf(pid, machine)).toBe(`${root}/agent`);
  await moveProcesses(machine, `${root}/agent`, [pid]);
  expect([...cgroupsOf(pid)]).toEqual([`${root}/agent`]);
});

test('the topmost cgroup is emptied, except of the kernel’s own threads', async () => {
  const [program, kernel, elsewhere] = [await started(), await started(), await started()];
  await moveProcesses(machine, root, [program, kernel]);
  await moveProcesses(machine, `${root}/pods`, [elsewhere]);
  const below = [...machine.controllers].map(([name, mount]) => [name, join(mount, root)] as const);
  const mounts: CgroupMounts = {
    ...machine,
    controllers: new Map(below),
    unified: machine.unified && join(machine.unified, root),
  };
  const proc = mkdtempSync(join(tmpdir(), 'kubus-proc-'));
  try {
    for (const pid of [program, elsewhere]) {
      mkdirSync(join(proc, String(pid)));
      symlinkSync('/bin/sleep', join(proc, String(pid), 'exe'));
    }
    expect(await emptyRootCgroup(mounts, '/system', proc)).toBe(1);
    expect(await emptyRootCgroup(mounts, '/system', proc)).toBe(0);
  } finally {
    rmSync(proc, { recursive: true });
  }
  expect([program, kernel, elsewhere].map((pid) => [...cgroupsOf(pid)])).toEqual([
    [`${root}/system`],
    [root],
    [`${root}/pods`],
  ]);
});

test('a cgroup that cannot be made is an error that names its file', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'kubus-cgroup-'));
  try {
    const mounts: CgroupMounts = { version: 1, controllers: new Map([['memory', folder]]) };
    await moveProcesses(mounts, '/a', [process.pid]);
    expect(readFileSync(join(folder, 'a/cgroup.procs'), 'utf8')).toBe(String(process.pid));
    const file = join(folder, 'a/cgroup.procs');
    const wrong: CgroupMounts = { version: 1, controllers: new Map([['memory', file]]) };
    await expect(moveProcesses(wrong, '/b', [])).rejects.toThrow(`cgroup file ${file}/b: ENOTDIR`);
  } finally {
    rmSync(folder, { recursive: true });
  }
});
