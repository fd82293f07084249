import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import type { CgroupMounts } from '@kubus/cgroup';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { checkCgroups, driverOf } from '../../src/kubelet/cgroups.ts';

describe('the cgroup driver', () => {
  const of = (cgroupDriver: 'cgroupfs' | 'systemd' | undefined) => ({
    name: 'containerd',
    version: '2.1.9',
    cgroupDriver,
  });

  test.each([
    ['cgroupfs', undefined, false, 'cgroupfs'],
    ['systemd', undefined, true, 'systemd'],
    ['cgroupfs', 'systemd', false, 'systemd'],
    ['systemd', 'systemd', true, 'systemd'],
  ] as const)('configured %s, of the runtime %s, named: %s, is %s', (configured, runtime, isGiven, expected) => {
    expect(driverOf({ cgroupDriver: configured }, of(runtime), isGiven)).toBe(expected);
  });

  test('that is not the runtime’s is an error that names both', () => {
    expect(() => driverOf({ cgroupDriver: 'systemd' }, of('cgroupfs'), true)).toThrow(
      'cgroupDriver (--cgroup-driver) is "systemd", but the container runtime containerd 2.1.9 uses "cgroupfs": configure the same driver in both, or leave cgroupDriver out',
    );
  });
});

describe('cgroups of the configuration', () => {
  let folder: string;
  let v2: CgroupMounts;
  let v1: CgroupMounts;
  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), 'kubus-cgroups-'));
    mkdirSync(join(folder, 'system.slice'));
    mkdirSync(join(folder, 'few'));
    writeFileSync(join(folder, 'system.slice/cgroup.controllers'), 'cpuset cpu io memory pids');
    writeFileSync(join(folder, 'few/cgroup.controllers'), 'memory pids');
    writeFileSync(join(folder, 'cgroup.subtree_control'), 'memory pids');
    const controllers = new Map(['cpu', 'memory', 'pids', 'rdma'].map((name) => [name, folder]));
    v2 = { version: 2, controllers, unified: folder };
    v1 = { version: 1, controllers };
  });
  afterAll(() => rmSync(folder, { recursive: true }));

  const config = (enforce: string, cgroup: string) => ({
    enforceNodeAllocatable: ['pods', enforce],
    systemReservedCgroup: cgroup,
    kubeReservedCgroup: cgroup,
  });

  test('that exist are accepted', async () => {
    await checkCgroups(config('system-reserved', '/system.slice'), 'systemd', v2);
    await checkCgroups(config('kube-reserved-compressible', '/few'), 'cgroupfs', v1);
    await checkCgroups(config('none', '/missing'), 'cgroupfs', v2);
  });

  test('that are missing, or lack a controller, end the start with the reference’s words', async () => {
    await expect(checkCgroups(config('system-reserved', '/kube-a.slice'), 'systemd', v2)).rejects.toThrow(
      'Failed to enforce System Reserved Cgroup Limits on "/kube-a.slice": could not read controllers for cgroup ["kube" "a"]: ENOENT',
    );
    await expect(checkCgroups(config('kube-reserved-compressible', '/few'), 'cgroupfs', v2)).rejects.toThrow(
      'Failed to enforce Kube Reserved Compressible Cgroup Limits on "/few": cgroup ["few"] has some missing controllers: cpu',
    );
    await expect(checkCgroups(config('kube-reserved', '/none'), 'cgroupfs', v1)).rejects.toThrow(
      `Failed to enforce Kube Reserved Cgroup Limits on "/none": cgroup ["none"] has some missing paths: ${folder}/none`,
    );
  });
});
