import { beforeEach, expect, test } from '@jest/globals';
import { KubusError } from '@kubus/ports';
import { ScriptedNode, podOf } from './scripted-node.ts';

let node: ScriptedNode;

beforeEach(() => {
  node = new ScriptedNode();
  node.machine = { exclusive: { cpus: true, memory: false, withoutQuota: true, reconcileMs: 4_000 } };
});

const whole = { cpu: '2', memory: '64Mi' };
/** A Guaranteed pod of two CPUs. */
const exclusivePod = (uid: string) => podOf(uid, {}, { resources: { requests: whole, limits: whole } });

const resources = (name = 'main') => node.bridge.configs.get(name)?.linux?.resources;
const updates = () => node.bridge.done.filter((what) => what.startsWith('UpdateContainerResources')).length;

test('a container is created with the CPUs and NUMA nodes that it has for itself, and without a quota; its pod has none either', async () => {
  await node.start();
  await node.sharedCpus('0,3');
  node.cpusets = { main: { cpus: '1-2', mems: '0' } };
  await node.work(exclusivePod('a'));
  expect(resources()).toMatchObject({ cpusetCpus: '1-2', cpusetMems: '0', cpuQuota: '-1' });
  expect(node.asked).toEqual(['main']);
  await node.sharedCpus('0');
  expect(updates()).toBe(0);
});

test('all other containers share the rest, without a question; they get other CPUs as soon as these change', async () => {
  await node.start();
  await node.sharedCpus('0,3');
  await node.work(podOf('a', {}, { resources: { limits: { cpu: '1500m', memory: '64Mi' } } }));
  expect(resources()).toMatchObject({ cpusetCpus: '0,3', cpuQuota: '150000' });
  expect(updates()).toBe(0);
  await node.sharedCpus('0-3');
  expect(updates()).toBe(1);
  expect(node.bridge.resized).toEqual({ cpusetCpus: '0-3' });
  await node.sharedCpus('0-3');
  expect(updates()).toBe(1);
  expect(node.asked).toEqual([]);
});

test('an update that the runtime refuses is tried again after the reconcile period', async () => {
  await node.start();
  await node.sharedCpus('0,3');
  await node.work(podOf('a'));
  node.bridge.before = (what) =>
    what.startsWith('UpdateContainerResources')
      ? Promise.reject(new KubusError('Unknown', 'device or resource busy'))
      : Promise.resolve();
  await node.sharedCpus('0');
  expect(node.bridge.resized).toBeUndefined();
  node.bridge.before = () => Promise.resolve();
  await node.pass(3_900);
  expect(node.bridge.resized).toBeUndefined();
  await node.pass(200);
  expect(node.bridge.resized).toEqual({ cpusetCpus: '0' });
});

test('a restarted process sets the CPUs of the containers that it finds once, those that node-agent still has for them', async () => {
  await node.start();
  await node.sharedCpus('0,3');
  node.cpusets = { main: { cpus: '1-2' } };
  await node.work(exclusivePod('a'));
  node.kill();
  await node.start();
  await node.work(exclusivePod('a'));
  expect(node.asked).toEqual(['main', 'main']);
  expect(node.bridge.resized).toEqual({ cpusetCpus: '1-2' });
  await node.sharedCpus('0');
  await node.pass(60_000);
  expect(updates()).toBe(1);
});

test.each([
  ['as a whole', 'pod', '1-2', 0, ['main']],
  ['with the node', 'container', '0,3', 1, []],
] as const)(
  'containers of a pod with resources of its own share its CPUs %s',
  async (_, podLevel, cpusetCpus, updated, asked) => {
    const { exclusive } = node.machine;
    if (exclusive === undefined) throw new Error('a node that gives CPUs');
    node.machine = { exclusive: { ...exclusive, podLevel } };
    await node.start();
    await node.sharedCpus('0,3');
    node.cpusets = { main: { cpus: '1-2' } };
    await node.work(podOf('a', { resources: { requests: whole, limits: whole } }));
    expect(resources()).toMatchObject({ cpusetCpus });
    expect(node.asked).toEqual(asked);
    await node.sharedCpus('0');
    expect(updates()).toBe(updated);
  },
);

test('a node without the policy asks and sets nothing', async () => {
  node.machine = {};
  await node.start();
  await node.work(exclusivePod('a'));
  expect(node.asked).toEqual([]);
  expect(resources()).not.toHaveProperty('cpusetCpus');
  expect(resources()).toMatchObject({ cpuQuota: '200000' });
});
