// What the service does with cgroups besides its pods' syncs, on the machine's own hierarchies.
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { PodCgroupTree, cgroupHierarchies, cgroupMounts, cgroupTree, removeFolders } from '@kubus/cgroup';
import type { NodeEvent, Pod } from '@kubus/contracts';
import { silentLogger } from '@kubus/ports';
import { ManualClock } from '@kubus/ports/testing';

import { type ChildProcess, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { CgroupUpkeep } from '../src/cgroups/cgroup-upkeep.ts';
import { EnforcedGroups } from '../src/cgroups/enforced-groups.ts';

const MINUTE = 60_000;
let root: string;
let folder: string;
let clock: ManualClock;
let tree: PodCgroupTree;
let cpu: string;
const children: ChildProcess[] = [];

beforeEach(async () => {
  root = `/kubus-test-${process.pid}-${randomBytes(3).toString('hex')}`;
  folder = mkdtempSync(join(tmpdir(), 'kubus-pods-'));
  clock = new ManualClock();
  tree = new PodCgroupTree({ root, allocatable: { cpu: '1', memory: '1Gi' } });
  cpu = (await cgroupMounts()).controllers.get('cpu') ?? '';
});
afterEach(async () => {
  for (const child of children.splice(0)) {
    if (child.exitCode === null && child.signalCode === null) {
      child.kill('SIGKILL');
      await once(child, 'exit');
    }
  }
  expect(await removeFolders(await cgroupTree(root))).toBeUndefined();
  rmSync(folder, { recursive: true });
});

const pod = (uid: string): Pod => ({
  metadata: { name: uid, namespace: 'default', uid },
  spec: { containers: [{ name: 'main', resources: { requests: { cpu: '500m' } } }] },
});
const shares = (cgroup: string) =>
  ['cpu.shares', 'cpu.weight']
    .map((file) => join(cpu, cgroup, file))
    .flatMap((file) => (existsSync(file) ? readFileSync(file, 'utf8').trim() : []))[0];
const has = async (uid: string) => (await tree.pods()).has(uid);

describe('the upkeep of cgroups', () => {
  const upkeep = (known: ReadonlySet<string>, removes = true) =>
    new CgroupUpkeep({
      root: folder,
      cgroups: tree,
      activePods: () => [pod('known')],
      mayExist: (uid) => known.has(uid),
      removes,
      clock,
      logger: silentLogger,
    });

  test('removes those of pods that are unknown in two looks, with what still runs in them', async () => {
    for (const uid of ['known', 'orphan', 'late']) await tree.ensure(pod(uid), 'Burstable');
    const [hierarchy = ''] = (await cgroupHierarchies()).filter((mount) => !mount.includes('cpuset'));
    const container = join(hierarchy, tree.parent('orphan', 'Burstable'), 'container');
    mkdirSync(container, { recursive: true });
    const child = spawn('sleep', ['infinity'], { stdio: 'ignore' });
    children.push(child);
    await once(child, 'spawn');
    writeFileSync(join(container, 'cgroup.procs'), String(child.pid));
    const ended = once(child, 'exit');
    const known = new Set(['known']);
    const kept = upkeep(known);
    expect(await kept.look()).toBe(true);
    expect([await has('orphan'), await has('late')]).toEqual([true, true]);
    // Another instance knew it sooner.
    known.add('late');
    expect(await kept.look()).toBe(true);
    expect(await ended).toEqual([null, 'SIGKILL']);
    expect(await kept.look()).toBe(false);
    expect([await has('known'), await has('orphan'), await has('late')]).toEqual([true, false, true]);
    kept.stop();
  });

  test('leaves those of pods with volumes, with the least share, and all where another instance removes them', async () => {
    await tree.ensure(pod('orphan'), 'Burstable');
    mkdirSync(join(folder, 'pods/orphan/volumes/kubernetes.io~empty-dir'), { recursive: true });
    const kept = upkeep(new Set());
    const other = upkeep(new Set(), false);
    for (const one of [kept, other, kept, other, kept]) await one.look();
    expect(await has('orphan')).toBe(true);
    expect(['1', '2']).toContain(shares(tree.parent('orphan', 'Burstable')));
    rmSync(join(folder, 'pods/orphan'), { recursive: true });
    await other.look();
    expect(await has('orphan')).toBe(true);
    await kept.look();
    expect(await has('orphan')).toBe(false);
    for (const one of [kept, other]) one.stop();
  });

  test('gives the tiers their shares again, each minute', async () => {
    await tree.ensure(pod('known'), 'Burstable');
    const tier = `${root}/kubepods/burstable`;
    const right = shares(tier);
    const file = ['cpu.shares', 'cpu.weight'].map((name) => join(cpu, tier, name)).find((one) => existsSync(one)) ?? '';
    const kept = upkeep(new Set(['known']));
    await kept.look();
    writeFileSync(file, '77');
    await kept.look();
    expect(shares(tier)).toBe('77');
    await clock.advance(MINUTE);
    await kept.look();
    expect(shares(tier)).toBe(right);
    kept.stop();
  });
});

describe('what is enforced at the start', () => {
  type Event = Pick<NodeEvent, 'type' | 'reason' | 'message'>;
  async function reports(
    reserved: object,
    count: number,
    act: (all: Event[]) => Promise<void> = () => Promise.resolve(),
  ) {
    const all: Event[] = [];
    const reached = Promise.withResolvers<undefined>();
    const enforced = new EnforcedGroups({
      reserved: {
        system: { cpu: '1' },
        kube: { cpu: '500m' },
        evictionHard: {},
        enforce: ['pods'],
        systemCgroup: '',
        kubeCgroup: '',
        ...reserved,
      },
      cgroups: tree,
      report: (event) => {
        all.push(event);
        if (all.length === count) reached.resolve(undefined);
      },
      clock,
      logger: silentLogger,
    });
    await act(all);
    await reached.promise;
    enforced.stop();
    return all.map(({ type, reason, message }) => `${type} ${reason}: ${message}`);
  }

  test('is that of all pods, and of the cgroups of the system', async () => {
    for (const mount of await cgroupHierarchies()) mkdirSync(join(mount, root, 'system'), { recursive: true });
    const reported = await reports(
      { enforce: ['pods', 'system-reserved-compressible'], systemCgroup: `${root}/system` },
      2,
    );
    expect(reported.sort()).toEqual([
      'Normal NodeAllocatableEnforced: Updated Node Allocatable limit across pods',
      `Normal NodeAllocatableEnforced: Updated limits on system reserved cgroup ${root}/system`,
    ]);
    expect(['1024', '39']).toContain(shares(`${root}/system`));
    expect(['1024', '39']).toContain(shares(`${root}/kubepods`));
  });

  test('is tried again each minute', async () => {
    const missing = { enforce: ['kube-reserved'] as const, kubeCgroup: `${root}/none` };
    const reported = await reports({ ...missing }, 3, async (all) => {
      while (all.length < 2) await new Promise((resolve) => setImmediate(resolve));
      for (const mount of await cgroupHierarchies()) mkdirSync(join(mount, root, 'none'), { recursive: true });
      await clock.advance(MINUTE);
    });
    expect(reported.filter((line) => !line.includes('across pods'))).toEqual([
      expect.stringContaining(
        `Warning FailedNodeAllocatableEnforcement: Failed to enforce Kube Reserved Cgroup Limits on "${root}/none": `,
      ),
      `Normal NodeAllocatableEnforced: Updated limits on kube reserved cgroup ${root}/none`,
    ]);
    expect(['512', '20']).toContain(shares(`${root}/none`));
  });
});
