// What cgroups of v2 do, on any machine: one with v1 has a hierarchy of v2 beside it, which may have no controllers.
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { usageV2 } from '@kubus/cgroup-config';
import { type ChildProcess, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { existsSync, mkdirSync, readFileSync, readdirSync, writeFileSync } from 'node:fs';
import { watch } from 'node:fs/promises';
import { join } from 'node:path';
import {
  CgroupBusy,
  type CgroupMounts,
  PodCgroupTree,
  cgroupMounts,
  cgroupOf,
  cgroupTree,
  emptyRootCgroup,
  handDownFromTop,
  missingCgroup,
  moveProcesses,
  removeFolders,
} from '../src/index.ts';

const mounts = await cgroupMounts();
const { unified = '' } = mounts;
const onUnified = unified === '' ? describe.skip : describe;

let root: string;
let children: ChildProcess[];
beforeEach(() => {
  root = `/kubus-test-${process.pid}-${randomBytes(3).toString('hex')}`;
  children = [];
});
afterEach(async () => {
  for (const folder of await cgroupTree(root)) {
    const freezer = join(folder, 'cgroup.freeze');
    if (existsSync(freezer)) writeFileSync(freezer, '0');
  }
  await Promise.all(children.map(end));
  expect(await removeFolders(await cgroupTree(root))).toBeUndefined();
});

/** Makes a cgroup of v2 and returns its folder. */
function make(path: string): string {
  const folder = join(unified, path);
  mkdirSync(folder, { recursive: true });
  return folder;
}

/** A process in the cgroup of this folder. */
async function runIn(folder: string): Promise<ChildProcess> {
  const child = spawn('sleep', ['infinity'], { stdio: 'ignore' });
  children.push(child);
  await once(child, 'spawn');
  writeFileSync(join(folder, 'cgroup.procs'), String(child.pid));
  return child;
}

async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const ended = once(child, 'exit');
  child.kill('SIGKILL');
  await ended;
}

/** Returns when the cgroup's events have this line; the kernel notifies of each change. */
async function eventOf(folder: string, line: string): Promise<void> {
  const file = join(folder, 'cgroup.events');
  const has = () => readFileSync(file, 'utf8').split('\n').includes(line);
  const stop = new AbortController();
  const changes = watch(file, { signal: stop.signal })[Symbol.asyncIterator]();
  // The first step starts to watch, so that no change falls between it and the look.
  let change = changes.next();
  try {
    while (!has()) {
      await change;
      change = changes.next();
    }
  } finally {
    stop.abort();
    await change.catch(() => undefined);
  }
}

onUnified('a pod’s cgroup of v2', () => {
  test('that is frozen is emptied and removed', async () => {
    const tree = new PodCgroupTree({ root });
    const container = make(`${tree.parent('a', 'Burstable')}/container`);
    const child = await runIn(container);
    const ended = once(child, 'exit');
    writeFileSync(join(container, 'cgroup.freeze'), '1');
    await eventOf(container, 'frozen 1');
    await expect(tree.remove('a')).rejects.toThrow(CgroupBusy);
    expect(await ended).toEqual([null, 'SIGKILL']);
    await tree.remove('a');
    expect(existsSync(container)).toBe(false);
  });

  test('with a threaded cgroup in it, whose processes the kernel lists only above, is emptied and removed', async () => {
    const tree = new PodCgroupTree({ root });
    const container = make(`${tree.parent('a', 'BestEffort')}/container`);
    const child = await runIn(container);
    const ended = once(child, 'exit');
    const threads = make(`${tree.parent('a', 'BestEffort')}/container/threads`);
    writeFileSync(join(threads, 'cgroup.type'), 'threaded');
    writeFileSync(join(threads, 'cgroup.threads'), String(child.pid));
    expect(() => readFileSync(join(threads, 'cgroup.procs'))).toThrow('ENOTSUP');
    await expect(tree.remove('a')).rejects.toThrow(CgroupBusy);
    expect(await ended).toEqual([null, 'SIGKILL']);
    await tree.remove('a');
    expect(existsSync(container)).toBe(false);
  });

  test('is ended as a whole by cgroup.kill, and its events say when it is empty', async () => {
    const pod = make(`${root}/pod`);
    const inner = make(`${root}/pod/container/inner`);
    const ended = Promise.all((await Promise.all([runIn(inner), runIn(inner)])).map((child) => once(child, 'exit')));
    await eventOf(pod, 'populated 1');
    writeFileSync(join(pod, 'cgroup.kill'), '1');
    expect(await ended).toEqual([
      [null, 'SIGKILL'],
      [null, 'SIGKILL'],
    ]);
    await eventOf(pod, 'populated 0');
  });

  test('takes programs that are not pods, and is made for them', async () => {
    const { pid = NaN } = await runIn(make(`${root}/pod`));
    const v2: CgroupMounts = { version: 2, controllers: new Map([['cpu', unified]]), unified };
    await moveProcesses(v2, `${root}/agent`, [pid]);
    await eventOf(join(unified, root, 'agent'), 'populated 1');
    await eventOf(join(unified, root, 'pod'), 'populated 0');
    expect(await cgroupOf(pid, v2)).toBe(`${root}/agent`);
    const above: CgroupMounts = {
      ...v2,
      controllers: new Map([['cpu', join(unified, root)]]),
      unified: join(unified, root),
    };
    writeFileSync(join(unified, root, 'cgroup.procs'), String(pid));
    expect(await emptyRootCgroup(above, '/system')).toBe(1);
    expect(await cgroupOf(pid, v2)).toBe(`${root}/system`);
  });

  test('has its usage read where the kernel has no controller for it: CPU time is counted anyway', async () => {
    const folder = make(`${root}/pod`);
    await runIn(folder);
    const memory: Readonly<Record<string, string>> = {
      'memory.current': '8192\n',
      'memory.stat': 'anon 4096\nfile 2048\ninactive_file 1024\n',
      'memory.events': 'low 0\nhigh 1\nmax 5\noom 2\noom_kill 3\noom_group_kill 1\n',
    };
    const read = (_controller: string, file: string) => {
      const path = join(folder, file);
      return memory[file] ?? (existsSync(path) ? readFileSync(path, 'utf8') : undefined);
    };
    const usage = usageV2({ read }, 'all');
    expect(usage).toMatchObject({
      memory: { usageBytes: 8192, workingSetBytes: 7168 },
      more: { limitHits: 5, oomKills: 3 },
    });
    expect(usage?.cpuNs).toBeGreaterThanOrEqual(0);
    expect(usage?.pressures?.cpu === undefined).toBe(!existsSync(join(folder, 'cpu.pressure')));
  });
});

/** A controller that no hierarchy of v1 has is in that of v2, and works as all do on a machine with v2 alone. */
const hasHugepages =
  unified !== '' && readFileSync(join(unified, 'cgroup.controllers'), 'utf8').trim().split(' ').includes('hugetlb');
const onHugepages = hasHugepages && readdirSync('/sys/kernel/mm/hugepages').includes('hugepages-2048kB');

(onHugepages ? describe : describe.skip)('limits in v2', () => {
  const control = join(unified, 'cgroup.subtree_control');
  let handedDown = false;
  beforeAll(() => {
    handedDown = readFileSync(control, 'utf8').trim().split(' ').includes('hugetlb');
  });
  afterAll(() => {
    if (!handedDown) writeFileSync(control, '-hugetlb');
  });

  test('are the kernel’s after the controller was handed down from the top', async () => {
    const ofV2: CgroupMounts = { version: 2, controllers: new Map([['hugetlb', unified]]), unified };
    const tree = new PodCgroupTree({ root, mounts: ofV2 });
    const hugepages = { 'hugepages-2Mi': '4Mi', memory: '16Mi', cpu: '100m' };
    const pod = {
      metadata: { name: 'p', namespace: 'default', uid: 'p' },
      spec: { containers: [{ name: 'main', resources: { requests: hugepages, limits: hugepages } }] },
    };
    await tree.ensure(pod, 'Guaranteed');
    const folder = join(unified, tree.parent('p', 'Guaranteed'));
    expect(readFileSync(join(folder, 'hugetlb.2MB.max'), 'utf8').trim()).toBe(String(4 * 1024 ** 2));
    await tree.remove('p');
    expect(existsSync(folder)).toBe(false);
  });

  test('are possible in a cgroup of the system once the top has handed its controllers down', async () => {
    const at = (mount: string): CgroupMounts => ({
      version: 2,
      controllers: new Map([['hugetlb', mount]]),
      unified: mount,
    });
    await handDownFromTop(at(unified));
    make(`${root}/system`);
    const top = at(join(unified, root));
    expect(await missingCgroup('/system', 'cgroupfs', top)).toContain('has some missing controllers: hugetlb');
    await handDownFromTop(top);
    expect(await missingCgroup('/system', 'cgroupfs', top)).toBeUndefined();
  });
});
