import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { type ChildProcess, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { cpuWeight } from '@kubus/cgroup-config';
import {
  CgroupBusy,
  CgroupError,
  type CgroupMounts,
  PodCgroupTree,
  cgroupHierarchies,
  cgroupMounts,
  cgroupTree,
  removeFolders,
} from '../src/index.ts';

let root: string;
let hierarchies: string[];
let children: ChildProcess[];

beforeEach(async () => {
  root = `/kubus-test-${process.pid}-${randomBytes(3).toString('hex')}`;
  hierarchies = await cgroupHierarchies();
  children = [];
});
afterEach(async () => {
  await Promise.all(children.map(end));
  expect(await removeFolders(await cgroupTree(root))).toBeUndefined();
});

/** Makes a cgroup in every hierarchy, as runc does. */
function make(cgroup: string): void {
  for (const hierarchy of hierarchies) mkdirSync(join(hierarchy, cgroup), { recursive: true });
}

function isThere(cgroup: string): boolean[] {
  return [...new Set(hierarchies.map((hierarchy) => existsSync(join(hierarchy, cgroup))))];
}

/** A process in a cgroup of one hierarchy. */
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

test('the machine’s hierarchies are those where cgroups can be made', () => {
  expect(hierarchies.length).toBeGreaterThan(0);
  make(root);
  for (const hierarchy of hierarchies) expect(existsSync(join(hierarchy, root, 'cgroup.procs'))).toBe(true);
});

describe('a pod’s cgroup', () => {
  test.each([
    ['/', 'Guaranteed', '/kubepods/podu'],
    ['/', 'Burstable', '/kubepods/burstable/podu'],
    ['/', 'BestEffort', '/kubepods/besteffort/podu'],
    ['/kubus-node0', 'BestEffort', '/kubus-node0/kubepods/besteffort/podu'],
  ])('below %s of class %s is %s', (below, qos, cgroup) => {
    expect(new PodCgroupTree({ root: below }).parent('u', qos)).toBe(cgroup);
  });

  test.each(['Guaranteed', 'Burstable', 'BestEffort'])(
    'of class %s is removed in every hierarchy with what is below it, and nothing else is',
    async (qos) => {
      const tree = new PodCgroupTree({ root });
      const pod = tree.parent('a', qos);
      const others = ['Guaranteed', 'Burstable', 'BestEffort'].map((other) => tree.parent('ab', other));
      for (const cgroup of [`${pod}/container1/inner`, `${pod}/container2`, ...others]) make(cgroup);
      await tree.remove('a');
      expect(isThere(pod)).toEqual([false]);
      for (const other of others) expect(isThere(other)).toEqual([true]);
    },
  );

  test('that is in one hierarchy only, or in none, is removed all the same', async () => {
    const tree = new PodCgroupTree({ root });
    await tree.remove('a');
    const [first = ''] = hierarchies;
    mkdirSync(join(first, tree.parent('a', 'Burstable')), { recursive: true });
    await tree.remove('a');
    expect(isThere(tree.parent('a', 'Burstable'))).toEqual([false]);
  });

  test('in which something runs is emptied, and goes the next time', async () => {
    const tree = new PodCgroupTree({ root });
    const container = `${tree.parent('a', 'Burstable')}/container`;
    make(container);
    // A cgroup of the cpuset controller takes nobody before it has CPUs.
    const busy = join(hierarchies.find((hierarchy) => !hierarchy.includes('cpuset')) ?? '', container);
    const child = await runIn(busy);
    const ended = once(child, 'exit');
    const removal = tree.remove('a');
    await expect(removal).rejects.toThrow(CgroupBusy);
    await expect(removal).rejects.toMatchObject({
      code: 'cgroup-busy',
      message: `cgroup ${busy} cannot be removed: something still runs in it`,
      context: { cgroup: busy, podUid: 'a' },
    });
    expect(await ended).toEqual([null, 'SIGKILL']);
    await tree.remove('a');
    expect(isThere(container)).toEqual([false]);
  });
});

describe('a pod’s limits', () => {
  const GiB = 1024n ** 3n;
  const pod = (uid: string, requests: Record<string, string>, limits: Record<string, string> = {}) => ({
    metadata: { name: uid, namespace: 'default', uid },
    spec: { containers: [{ name: 'main', resources: { requests, limits } }] },
  });
  let mounts: CgroupMounts;
  beforeEach(async () => {
    mounts = await cgroupMounts();
  });

  function read(cgroup: string, v1: [controller: string, file: string], v2: string): string {
    const [controller, file] = v1;
    const folder = join(mounts.controllers.get(controller) ?? '', cgroup);
    return readFileSync(join(folder, mounts.version === 1 ? file : v2), 'utf8').trim();
  }
  const shares = (cgroup: string) => read(cgroup, ['cpu', 'cpu.shares'], 'cpu.weight');
  const memory = (cgroup: string) => read(cgroup, ['memory', 'memory.limit_in_bytes'], 'memory.max');
  /** What the machine says for this many shares. */
  const said = (v1: bigint) => String(mounts.version === 1 ? v1 : cpuWeight(v1));

  test('are the kernel’s, with those of all above it', async () => {
    const tree = new PodCgroupTree({ root, allocatable: { cpu: '2', memory: '4Gi', pid: '5000' }, pids: 100n });
    await tree.ensure(pod('g', { cpu: '500m', memory: '64Mi' }, { cpu: '500m', memory: '64Mi' }), 'Guaranteed');
    await tree.ensure(pod('b1', { cpu: '250m' }), 'Burstable');
    await tree.ensure(pod('b2', { cpu: '1' }, { memory: '128Mi' }), 'Burstable');
    await tree.ensure(pod('e', {}), 'BestEffort');
    expect(
      ['', '/podg', '/burstable', '/burstable/podb1', '/besteffort', '/besteffort/pode'].map((cgroup) =>
        shares(`${root}/kubepods${cgroup}`),
      ),
    ).toEqual([2048n, 512n, 1280n, 256n, 2n, 2n].map(said));
    expect(memory(`${root}/kubepods`)).toBe(String(4n * GiB));
    expect(memory(tree.parent('g', 'Guaranteed'))).toBe(String(64 * 1024 * 1024));
    expect(memory(tree.parent('b2', 'Burstable'))).toBe(String(128 * 1024 * 1024));
    expect(memory(tree.parent('b1', 'Burstable'))).toBe(mounts.version === 1 ? '9223372036854771712' : 'max');
    expect(read(tree.parent('e', 'BestEffort'), ['pids', 'pids.max'], 'pids.max')).toBe('100');
    expect(read(`${root}/kubepods`, ['pids', 'pids.max'], 'pids.max')).toBe('5000');
    const quota = read(tree.parent('g', 'Guaranteed'), ['cpu', 'cpu.cfs_quota_us'], 'cpu.max');
    expect(quota).toBe(mounts.version === 1 ? '50000' : '50000 100000');
    expect([...(await tree.pods())].sort()).toEqual(['b1', 'b2', 'e', 'g']);

    await tree.remove('b1');
    expect(shares(`${root}/kubepods/burstable`)).toBe(said(1024n));
    expect([...(await tree.pods())].sort()).toEqual(['b2', 'e', 'g']);
  });

  test('change with the pod, also by another instance, and are written again into a cgroup that was lost', async () => {
    const small = pod('p', { cpu: '100m' }, { cpu: '200m', memory: '64Mi' });
    const cgroup = new PodCgroupTree({ root }).parent('p', 'Burstable');
    const tree = new PodCgroupTree({ root });
    await tree.ensure(small, 'Burstable');
    await new PodCgroupTree({ root }).ensure(pod('p', { cpu: '200m' }, { memory: '32Mi' }), 'Burstable');
    expect([shares(cgroup), memory(cgroup)]).toEqual([said(204n), String(32 * 1024 * 1024)]);
    expect(read(cgroup, ['cpu', 'cpu.cfs_quota_us'], 'cpu.max')).toMatch(/^(-1|max 100000)$/);
    expect(await removeFolders(await cgroupTree(cgroup))).toBeUndefined();
    await tree.ensure(small, 'Burstable');
    expect([shares(cgroup), memory(cgroup)]).toEqual([said(102n), String(64 * 1024 * 1024)]);
  });

  test('that another program has changed are written again', async () => {
    const tree = new PodCgroupTree({ root });
    const of = pod('p', { cpu: '500m' });
    const cgroup = tree.parent('p', 'Burstable');
    await tree.ensure(of, 'Burstable');
    const [controller, file] = mounts.version === 1 ? ['cpu', 'cpu.shares'] : ['cpu', 'cpu.weight'];
    for (const path of [cgroup, `${root}/kubepods/burstable`]) {
      writeFileSync(join(mounts.controllers.get(controller) ?? '', path, file), '100');
    }
    await tree.ensure(of, 'Burstable');
    expect([shares(cgroup), shares(`${root}/kubepods/burstable`)]).toEqual([said(512n), said(512n)]);
  });

  test('of the tiers are the sum of what the pods request, without rounding them one by one', async () => {
    const uids = ['a', 'b', 'c'];
    await Promise.all(uids.map((uid) => new PodCgroupTree({ root }).ensure(pod(uid, { cpu: '100m' }), 'Burstable')));
    const tree = new PodCgroupTree({ root });
    await tree.refresh(uids.map((uid) => ({ pod: pod(uid, { cpu: '100m' }), qos: 'Burstable' })));
    expect(shares(`${root}/kubepods/burstable`)).toBe(said(307n));
    await tree.starve('a');
    expect(shares(tree.parent('a', 'Burstable'))).toBe(said(2n));
  });

  test('of a cgroup of the system are those that are reserved, and it has to exist', async () => {
    const tree = new PodCgroupTree({ root });
    const missing = tree.limitReserved(`${root}/none`, { cpu: '1' }, false);
    await expect(missing).rejects.toThrow(CgroupError);
    const parts = `["${root.slice(1)}" "none"]`;
    await expect(missing).rejects.toThrow(
      mounts.version === 1
        ? `cgroup ${parts} has some missing paths: `
        : `could not read controllers for cgroup ${parts}: `,
    );
    make(`${root}/system`);
    await tree.limitReserved(`${root}/system`, { cpu: '1', memory: '64Mi', pid: '20' }, true);
    expect(shares(`${root}/system`)).toBe(said(1024n));
    await tree.limitReserved(`${root}/system`, { cpu: '500m', memory: '64Mi', pid: '20' }, false);
    expect(shares(`${root}/system`)).toBe(said(512n));
    expect(memory(`${root}/system`)).toBe(String(64 * 1024 * 1024));
    expect(read(`${root}/system`, ['pids', 'pids.max'], 'pids.max')).toBe('20');
  });

  test('that the kernel refuses are an error that names the file', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'kubus-cgroup-'));
    try {
      mkdirSync(join(folder, 'kubepods/podp/memory.max'), { recursive: true });
      writeFileSync(join(folder, 'cgroup.subtree_control'), 'memory');
      const tree = new PodCgroupTree({ mounts: { version: 2, controllers: new Map([['memory', folder]]) } });
      const ensured = tree.ensure(pod('p', { memory: '1' }, { memory: '1' }), 'Guaranteed');
      await expect(ensured).rejects.toThrow(CgroupError);
      await expect(ensured).rejects.toThrow(join(folder, 'kubepods/podp/memory.max'));
    } finally {
      rmSync(folder, { recursive: true });
    }
  });

  test('of cgroup v2 are written after each controller was handed down', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'kubus-cgroup-'));
    try {
      const controls = ['', 'node', 'node/kubepods'].map((cgroup) => join(folder, cgroup, 'cgroup.subtree_control'));
      mkdirSync(join(folder, 'node/kubepods'), { recursive: true });
      for (const control of controls) writeFileSync(control, '');
      const controllers = new Map(['cpu', 'memory'].map((name) => [name, folder]));
      const tree = new PodCgroupTree({ root: '/node', mounts: { version: 2, controllers } });
      await tree.ensure(pod('p', { cpu: '1', memory: '1Gi' }, { cpu: '1', memory: '1Gi' }), 'Guaranteed');
      for (const control of controls)
        expect(readFileSync(control, 'utf8').split(' ').sort()).toEqual(['+cpu', '+memory']);
      const files = ['cpu.weight', 'cpu.max', 'memory.max'].map((file) =>
        readFileSync(join(folder, 'node/kubepods/podp', file), 'utf8'),
      );
      expect(files).toEqual(['39', '100000 100000', String(GiB)]);
    } finally {
      rmSync(folder, { recursive: true });
    }
  });
});
