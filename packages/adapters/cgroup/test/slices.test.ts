// The driver `systemd` of cgroup v2: what systemd is asked for, and what then is in the cgroups.
import { afterAll, beforeAll, beforeEach, expect, test } from '@jest/globals';
import { Systemd } from '@kubus/dbus';
import { TestSystemd } from '@kubus/systemd-fixture';
import { systemClock } from '@kubus/service-kit';
import { existsSync, readFileSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { CgroupError, type CgroupMounts, PodCgroupTree } from '../src/index.ts';
import { sliceMounts } from './slice-mounts.ts';

let bus: TestSystemd;
let systemd: Systemd;
let mounts: CgroupMounts;
let tree: PodCgroupTree;
/** Every test has its own. */
let root = 0;

beforeAll(async () => {
  bus = await TestSystemd.start();
  systemd = new Systemd({ address: bus.address, clock: systemClock });
  mounts = sliceMounts(bus);
});
beforeEach(() => {
  root += 1;
  tree = newTree();
});
afterAll(async () => {
  await systemd.close();
  await bus.stop();
});

const allocatable = { cpu: '2', memory: '4Gi', pid: '5000' };
const newTree = () =>
  new PodCgroupTree({ root: `/t${root}`, driver: 'systemd', units: systemd, mounts, allocatable, pids: 100n });
const pod = (uid: string, requests: Record<string, string>, limits: Record<string, string> = {}) => ({
  metadata: { name: uid, namespace: 'default', uid },
  spec: { containers: [{ name: 'main', resources: { requests, limits } }] },
});
const folder = (cgroup: string) => join(bus.cgroups, cgroup);
/** Weight, quota, memory and processes. */
const limitsOf = (cgroup: string) =>
  ['cpu.weight', 'cpu.max', 'memory.max', 'pids.max'].map((file) => readFileSync(join(folder(cgroup), file), 'utf8'));
const kubepods = () => `/t${root}.slice/t${root}-kubepods.slice`;
const tier = (name: string) => `${kubepods()}/t${root}-kubepods-${name}.slice`;

test('slices have the limits, those of systemd and those of the kernel alike', async () => {
  const guaranteed = { cpu: '123m', memory: '64Mi' };
  await tree.ensure(pod('g-1', guaranteed, guaranteed), 'Guaranteed');
  await tree.ensure(pod('b', { cpu: '1' }), 'Burstable');
  await tree.ensure(pod('e', {}), 'BestEffort');
  const expected = {
    [kubepods()]: ['79', 'max 100000', '4294967296', '5000'],
    [`${kubepods()}/t${root}-kubepods-podg_1.slice`]: ['5', '13000 100000', '67108864', '100'],
    [tier('burstable')]: ['39', 'max 100000', 'max', 'max'],
    [`${tier('burstable')}/t${root}-kubepods-burstable-podb.slice`]: ['39', 'max', 'max', '100'],
    [tier('besteffort')]: ['1', 'max 100000', 'max', 'max'],
    [`${tier('besteffort')}/t${root}-kubepods-besteffort-pode.slice`]: ['1', 'max', 'max', '100'],
  };
  const values = () => Object.fromEntries(Object.keys(expected).map((cgroup) => [cgroup, limitsOf(cgroup)]));
  expect(values()).toEqual(expected);
  for (const control of ['', `t${root}.slice`, kubepods()]) {
    expect(readFileSync(join(folder(control), 'cgroup.subtree_control'), 'utf8')).toBe('+cpu +cpuset +memory +pids');
  }
  // What systemd applies again is the same.
  await bus.reload();
  const shown = (all: typeof expected) => JSON.stringify(all).replaceAll('"max"', '"max 100000"');
  expect(shown(values())).toBe(shown(expected));
});

test('a slice that exists with other limits, of an earlier agent or of systemd itself, gets these', async () => {
  const unit = `t${root}-kubepods-burstable-podb.slice`;
  await systemd.startTransientUnit(unit, [['CPUWeight', 't', 7n]]);
  await tree.ensure(pod('b', { cpu: '1' }), 'Burstable');
  expect(limitsOf(`${tier('burstable')}/${unit}`)[0]).toBe('39');
  expect(limitsOf(tier('burstable'))[0]).toBe('39');
  await bus.reload();
  expect(limitsOf(`${tier('burstable')}/${unit}`)[0]).toBe('39');
});

test('a value that was reset is written again, and a slice that was lost is started again', async () => {
  const small = pod('b', { cpu: '1' }, { memory: '64Mi' });
  const path = `${tier('burstable')}/t${root}-kubepods-burstable-podb.slice`;
  await tree.ensure(small, 'Burstable');
  writeFileSync(join(folder(path), 'memory.max'), 'max');
  writeFileSync(join(folder(tier('burstable')), 'cpu.weight'), '100');
  const before = bus.calls.length;
  await tree.ensure(small, 'Burstable');
  expect([limitsOf(path)[2], limitsOf(tier('burstable'))[0]]).toEqual(['67108864', '39']);
  expect(bus.calls.slice(before).every((call) => call.startsWith('SetUnitProperties'))).toBe(true);
  await systemd.stopUnit(`t${root}-kubepods-burstable-podb.slice`);
  await tree.ensure(small, 'Burstable');
  expect(limitsOf(path)[2]).toBe('67108864');
  await tree.ensure(small, 'Burstable');
});

test('a pod’s slice is stopped, and its tier gets what is left', async () => {
  await tree.ensure(pod('a', { cpu: '1' }), 'Burstable');
  await tree.ensure(pod('b', { cpu: '1' }), 'Burstable');
  expect([...(await tree.pods())].sort()).toEqual(['a', 'b']);
  const unit = `t${root}-kubepods-burstable-poda.slice`;
  await tree.remove('a');
  await tree.remove('a');
  await expect(systemd.unitProperties(unit)).rejects.toThrow('not loaded');
  expect(existsSync(folder(`${tier('burstable')}/${unit}`))).toBe(false);
  expect(limitsOf(tier('burstable'))[0]).toBe('39');
  // An agent that started later knows no pod's slice but from the cgroups.
  await newTree().remove('b');
  expect(readdirSync(folder(tier('burstable'))).filter((name) => name.endsWith('.slice'))).toEqual([]);
});

test('a reserved slice is changed in systemd', async () => {
  await systemd.startTransientUnit(`t${root}-system.slice`, []);
  writeFileSync(join(folder(`t${root}.slice/t${root}-system.slice`), 'cgroup.controllers'), 'cpu cpuset memory pids');
  await tree.limitReserved(`/t${root}-system.slice`, { cpu: '1', memory: '64Mi' }, false);
  await bus.reload();
  expect(limitsOf(`t${root}.slice/t${root}-system.slice`)).toEqual(['39', 'max 100000', '67108864', 'max']);
});

test('nothing is made where systemd refuses', async () => {
  const refuse = () => Promise.reject(new Error('Access denied'));
  const refusing = { startTransientUnit: refuse, startUnit: refuse, setUnitProperties: refuse, stopUnit: refuse };
  const refused = new PodCgroupTree({ root: `/t${root}`, driver: 'systemd', units: refusing, mounts });
  const ensured = refused.ensure(pod('a', {}), 'BestEffort');
  await expect(ensured).rejects.toThrow(CgroupError);
  await expect(ensured).rejects.toThrow(`t${root}-kubepods-besteffort-poda.slice: Access denied`);
  expect(existsSync(folder(`t${root}.slice`))).toBe(false);
  const without = new PodCgroupTree({ driver: 'systemd', mounts });
  await expect(without.ensure(pod('a', {}), 'BestEffort')).rejects.toThrow('needs a connection to systemd');
});
