import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { type ChildProcessByStdio, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, readdirSync, rmSync, rmdirSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Readable, Writable } from 'node:stream';
import { setTimeout as wait } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';
import {
  type CgroupMounts,
  CgroupReader,
  KeptFiles,
  PodCgroupTree,
  cgroupHierarchies,
  cgroupMounts,
  cgroupTree,
  removeFolders,
} from '../src/index.ts';

const MiB = 1024 * 1024;

describe('on this machine', () => {
  let root: string;
  let mounts: CgroupMounts;
  let reader: CgroupReader;
  let children: ChildProcessByStdio<Writable, Readable, null>[];

  beforeEach(async () => {
    root = `/kubus-test-${process.pid}-${randomBytes(3).toString('hex')}`;
    mounts = await cgroupMounts();
    reader = new CgroupReader({ root, mounts });
    children = [];
  });
  afterEach(async () => {
    reader.release(() => false);
    for (const child of children) {
      const ended = once(child, 'exit');
      child.kill('SIGKILL');
      if (child.exitCode === null && child.signalCode === null) await ended;
    }
    expect(await removeFolders(await cgroupTree(root))).toBeUndefined();
  });

  /** A cgroup of every hierarchy, as runc makes it. */
  async function make(path: string): Promise<void> {
    for (const mount of await cgroupHierarchies()) mkdirSync(join(mount, path), { recursive: true });
  }

  /** Runs a program in a cgroup; resolves when it has written its first line. */
  async function runIn(path: string, script: string): Promise<ChildProcessByStdio<Writable, Readable, null>> {
    const child = spawn('sh', ['-c', `read -r start; ${script}`], { stdio: ['pipe', 'pipe', 'ignore'] });
    children.push(child);
    await once(child, 'spawn');
    for (const mount of await cgroupHierarchies()) {
      // A cgroup of the cpuset controller takes nobody before it has CPUs.
      if (!mount.includes('cpuset')) writeFileSync(join(mount, path, 'cgroup.procs'), String(child.pid));
    }
    child.stdin.write('start\n');
    await once(child.stdout, 'data');
    return child;
  }

  /** Each CPU counts memory for itself; the kernel adds that up every two seconds, and when it has become much. */
  async function untilCounted(path: string, bytes: number): Promise<void> {
    while ((reader.read(path, 'usage')?.memory.rssBytes ?? 0) <= bytes) await wait(100);
  }

  test('a pod’s cgroups are found, and what its container does is in all of them', async () => {
    const tree = new PodCgroupTree({ root });
    const pod = { metadata: { name: 'p', namespace: 'default', uid: 'u1' }, spec: { containers: [{ name: 'main' }] } };
    await tree.ensure(pod, 'BestEffort');
    const path = tree.parent('u1', 'BestEffort');
    await make(`${path}/c1`);
    expect(reader.pods()).toEqual(new Map([['u1', path]]));
    expect(Math.abs((reader.madeAt(path) ?? 0) - Date.now())).toBeLessThan(60_000);
    expect(reader.madeAt(`${path}/none`)).toBeUndefined();
    expect(reader.containers(path, ['c1', 'c2'])).toEqual(new Map([['c1', `${path}/c1`]]));

    const before = reader.read(path, 'all');
    // 20 MiB of memory that is touched, and some CPU.
    const child = await runIn(`${path}/c1`, 'x=$(head -c 20971520 /dev/zero | tr "\\0" x); echo there; read -r end');
    for (const cgroup of [path, `${path}/c1`]) await untilCounted(cgroup, 20 * MiB);
    const [container, whole] = [reader.read(`${path}/c1`, 'all'), reader.read(path, 'all')];
    for (const usage of [container, whole]) {
      expect(usage?.cpuNs).toBeGreaterThan(before?.cpuNs ?? 0);
      expect(usage?.memory.rssBytes).toBeGreaterThan(20 * MiB);
      expect(usage?.memory.workingSetBytes).toBeGreaterThanOrEqual(usage?.memory.rssBytes ?? 0);
      expect(usage?.memory.faults.all).toBeGreaterThan(5000);
      expect(usage?.more?.threads).toBe(1);
    }
    expect(reader.processes(`${path}/c1`)).toEqual([child.pid]);
    expect(reader.processes(path)).toEqual([]);
    const { pressures } = container ?? {};
    if (mounts.unified !== undefined) expect(pressures?.cpu?.some.total).toBeGreaterThanOrEqual(0);
  });

  test('what one container does is found, though the one beside it stands still', async () => {
    const pod = `${root}/pod`;
    const [idle, busy] = [`${pod}/idle`, `${pod}/busy`];
    for (const path of [pod, idle, busy]) await make(path);
    await runIn(idle, 'echo there; read -r end');
    const work = 'x=$x$(head -c 10485760 /dev/zero | tr "\\0" x); echo done';
    const child = await runIn(busy, `echo there; while read -r more; do ${work}; done`);
    const round = () => {
      reader.read(pod, 'all');
      return [idle, busy].map((path) => reader.read(path, 'all', { within: pod }));
    };
    const plain = () => {
      const other = new CgroupReader({ root, mounts });
      const found = [idle, busy].map((path) => other.read(path, 'all'));
      other.release(() => false);
      return found;
    };
    const cpu = (found: ReturnType<typeof round>) => found.map((usage) => usage?.cpuNs);
    for (let done = 1; done <= 3; done += 1) {
      for (let looked = 0; looked < 4; looked += 1) round();
      child.stdin.write('more\n');
      await once(child.stdout, 'data');
      // The kernel counts the memory a moment later, and the shell still goes back to its input.
      while ((round()[1]?.memory.rssBytes ?? 0) <= done * 10 * MiB || !isDeepStrictEqual(cpu(round()), cpu(plain()))) {
        await wait(100);
      }
    }
  });

  test('limits are those of the pod', async () => {
    const tree = new PodCgroupTree({ root, pids: 50n });
    const resources = { cpu: '200m', memory: '64Mi' };
    const containers = [{ name: 'main', resources: { requests: resources, limits: resources } }];
    await tree.ensure({ metadata: { name: 'p', namespace: 'default', uid: 'u' }, spec: { containers } }, 'Guaranteed');
    // What limits nothing is made with the first container.
    await make(tree.parent('u', 'Guaranteed'));
    const usage = reader.read(tree.parent('u', 'Guaranteed'), 'all');
    expect(usage?.memory.limitBytes).toBe(64 * MiB);
    expect(usage?.more).toMatchObject({ cpuQuotaUs: 20_000, cpuPeriodUs: 100_000, threadsLimit: 50 });
    // v2 has no shares, its weights are coarser.
    expect(Math.abs((usage?.more?.cpuShares ?? 0) - 204)).toBeLessThan(30);
    expect(usage?.more?.throttling?.throttledNs).toBe(0);
  });

  test('the machine itself is a cgroup', () => {
    const usage = reader.read('/', 'usage', {
      machine: { usageBytes: 100 * MiB, limitBytes: 200 * MiB, swapBytes: 0, swapLimitBytes: 0 },
    });
    expect(usage?.cpuNs).toBeGreaterThan(0);
    expect(usage?.memory.usageBytes).toBeGreaterThan(0);
    expect(usage?.memory.limitBytes).toBe(200 * MiB);
  });

  test('a cgroup whose files are open can be removed, is gone then, and can come again', async () => {
    const path = `${root}/one`;
    await make(path);
    expect(reader.read(path, 'all')).toBeDefined();
    expect(reader.open).toBeGreaterThan(5);
    expect(await removeFolders(await cgroupTree(path))).toBeUndefined();
    expect(reader.read(path, 'all')).toBeUndefined();
    await make(path);
    reader.release(() => false);
    expect(reader.open).toBe(0);
    expect(reader.read(path, 'all')).toBeDefined();
  });
});

describe('a hierarchy of v2', () => {
  let folder: string;
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'kubus-cgroup-'));
  });
  afterEach(() => rmSync(folder, { recursive: true }));

  test('with systemd’s names is read', () => {
    const pod = '/kubepods.slice/kubepods-besteffort.slice/kubepods-besteffort-podab_c.slice';
    const scope = `${pod}/cri-containerd-c1.scope`;
    mkdirSync(join(folder, scope), { recursive: true });
    const files = {
      'cpu.stat': 'usage_usec 5\nuser_usec 3\nsystem_usec 2\n',
      'memory.current': '1000\n',
      'memory.stat': 'anon 600\ninactive_file 300\n',
      'cpu.pressure': 'some avg10=0.00 avg60=0.00 avg300=0.00 total=7\n',
      'cgroup.procs': '11\n12\n',
    };
    for (const [file, text] of Object.entries(files)) writeFileSync(join(folder, scope, file), text);
    const controllers = new Map(['cpu', 'memory', 'io', 'pids'].map((name) => [name, folder]));
    const mounts = { version: 2, controllers, unified: folder } as const;
    const reader = new CgroupReader({ driver: 'systemd', mounts });
    expect(reader.pods()).toEqual(new Map([['ab-c', pod]]));
    expect(reader.containers(pod, ['c1'])).toEqual(new Map([['c1', scope]]));
    const usage = reader.read(scope, 'pressure');
    expect(usage).toMatchObject({ cpuNs: 5000, memory: { usageBytes: 1000, workingSetBytes: 700, rssBytes: 600 } });
    expect(usage?.pressures?.cpu?.some.total).toBe(7);
    expect(reader.processes(scope)).toEqual([11, 12]);
    reader.release(() => false);
  });
});

describe('limits', () => {
  let folder: string;
  let reader: CgroupReader;
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'kubus-limits-'));
    const controllers = new Map(['cpu', 'memory'].map((name) => [name, folder]));
    reader = new CgroupReader({ mounts: { version: 2, controllers, unified: folder } });
  });
  afterEach(() => {
    reader.release(() => false);
    rmSync(folder, { recursive: true });
  });

  const write = (path: string, limit: number) => {
    mkdirSync(join(folder, path), { recursive: true });
    const files = { 'cpu.stat': 'usage_usec 1\n', 'memory.current': `${limit}\n`, 'memory.stat': 'anon 1\n' };
    for (const [file, text] of Object.entries({ ...files, 'memory.max': `${limit}\n` })) {
      writeFileSync(join(folder, path, file), text);
    }
  };
  const read = (path: string) => {
    const { usageBytes, limitBytes } = reader.read(path, 'usage')?.memory ?? {};
    return [usageBytes, limitBytes];
  };

  test('are kept until they are forgotten, unlike usage', () => {
    for (const path of ['/a', '/b']) write(path, 10);
    expect([read('/a'), read('/b')]).toEqual([
      [10, 10],
      [10, 10],
    ]);
    for (const path of ['/a', '/b']) write(path, 20);
    expect(read('/a')).toEqual([20, 10]);
    reader.forgetSettings('/a');
    expect([read('/a'), read('/b')]).toEqual([
      [20, 20],
      [20, 10],
    ]);
    reader.forgetSettings();
    expect(read('/b')).toEqual([20, 20]);
  });

  test('of a cgroup that was let go are read anew', () => {
    write('/a', 10);
    expect(read('/a')).toEqual([10, 10]);
    write('/a', 20);
    reader.release(() => true);
    expect(read('/a')).toEqual([20, 10]);
    reader.release(() => false);
    expect(read('/a')).toEqual([20, 20]);
  });
});

describe('kept files', () => {
  let folder: string;
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'kubus-kept-'));
  });
  afterEach(() => rmSync(folder, { recursive: true }));

  test('are read anew each time, whole and however long', () => {
    const files = new KeptFiles(1);
    const [one, two] = ['one', 'two'];
    for (const length of [0, 10, 3_500, 16_384, 50_000, 3]) {
      const text = 'x'.repeat(length);
      writeFileSync(join(folder, one), text);
      writeFileSync(join(folder, two), text);
      expect(files.read(folder, '', one)).toBe(text);
      // This one is not kept.
      expect(files.read(folder, '', two)).toBe(text);
      expect(files.count).toBe(1);
    }
    files.release(() => true);
    expect(files.count).toBe(1);
    files.release(() => false);
    expect(files.count).toBe(0);
  });

  test('that are not there are not looked for again before they are let go', () => {
    const files = new KeptFiles(10);
    const file = 'late';
    expect(files.read(folder, '', file)).toBeUndefined();
    writeFileSync(join(folder, file), 'late');
    expect(files.read(folder, '', file)).toBeUndefined();
    files.release(() => false);
    expect(files.read(folder, '', file)).toBe('late');
    files.release(() => false);
  });

  test('leave no descriptor behind', () => {
    const files = new KeptFiles(3);
    const descriptors = () => readdirSync('/proc/self/fd').length;
    const before = descriptors();
    for (let index = 0; index < 5; index += 1) {
      writeFileSync(join(folder, String(index)), 'text');
      files.read(folder, '', String(index));
    }
    // A folder can be opened but not read.
    mkdirSync(join(folder, 'none'));
    expect(files.read(folder, '', 'none')).toBeUndefined();
    rmdirSync(join(folder, 'none'));
    expect(files.count).toBe(3);
    files.release(() => false);
    expect(descriptors()).toBe(before);
  });
});
