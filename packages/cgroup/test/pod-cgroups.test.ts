import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { type ChildProcess, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { CgroupBusy, PodCgroupTree, cgroupHierarchies, cgroupTree, removeFolders } from '../src/index.ts';

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

  test('in which something runs stays, the error names it, and later it goes', async () => {
    const tree = new PodCgroupTree({ root });
    const container = `${tree.parent('a', 'Burstable')}/container`;
    make(container);
    // A cgroup of the cpuset controller takes nobody before it has CPUs.
    const busy = join(hierarchies.find((hierarchy) => !hierarchy.includes('cpuset')) ?? '', container);
    const child = await runIn(busy);
    const removal = tree.remove('a');
    await expect(removal).rejects.toThrow(CgroupBusy);
    await expect(removal).rejects.toMatchObject({
      code: 'cgroup-busy',
      message: `cgroup ${busy} can not be removed: something still runs in it`,
      context: { cgroup: busy, podUid: 'a' },
    });
    expect(existsSync(busy)).toBe(true);
    await end(child);
    await tree.remove('a');
    expect(isThere(container)).toEqual([false]);
  });
});
