import { beforeEach, expect, test } from '@jest/globals';
import { ScriptedNode, podOf } from './scripted-node.ts';

let node: ScriptedNode;

beforeEach(async () => {
  node = new ScriptedNode();
  await node.start();
});

const device = { pool: 'node0', device: 'd0', requests: [], cdiDevices: ['a.test/gpu=d0'] };
const prepared = [{ name: 'g', uid: 'u', drivers: [{ driver: 'a.test', devices: [device] }] }];
const resourceClaims = [{ name: 'gpu', resourceClaimName: 'g' }];
const claiming = () => podOf('a', { resourceClaims }, { resources: { claims: [{ name: 'gpu' }] } });
const created = () => node.bridge.done.filter((what) => /^(RunPodSandbox|CreateContainer)/.test(what)).length;

test('claims are prepared before the sandbox, their devices reach the container, and they are left when it has stopped', async () => {
  node.claims = prepared;
  await node.work(claiming());
  expect(node.bridge.configs.get('main')?.CDIDevices).toEqual([{ name: 'a.test/gpu=d0' }]);
  expect(node.claimed).toEqual(['prepare', 'start']);
  await node.work(claiming(), { work: 'kill' });
  expect(node.claimed).toEqual(['prepare', 'start', 'unprepare']);
});

test('a pod whose claims cannot be prepared waits, with the reference’s event, and is tried again', async () => {
  node.claims = 'prepare dynamic resources: DRA driver a.test is not registered';
  await node.work(claiming());
  expect(created()).toBe(0);
  expect(node.events('a')).toEqual([
    `FailedPrepareDynamicResources: Failed to prepare dynamic resources: ${node.claims}`,
  ]);
  node.claims = prepared;
  await node.pass(20_000);
  expect(created()).toBe(2);
});

test('a pod is not terminated before its claims are left', async () => {
  node.claims = prepared;
  await node.work(claiming());
  node.claims = 'unprepare dynamic resources: DRA driver a.test is not registered';
  await node.work(claiming(), { work: 'kill' });
  expect(node.state('a')).toMatchObject({ state: 'terminating', error: node.claims });
  node.claims = prepared;
  await node.pass(20_000);
  expect(node.state('a')?.state).toMatch(/^(terminated|finished)$/);
});

test('the status has the health of the devices of claims, and changes with it', async () => {
  node.claims = prepared;
  await node.work(claiming());
  const shown = () => node.status('a')?.containerStatuses?.[0]?.allocatedResourcesStatus;
  expect(shown()).toBeUndefined();
  await node.claimsOf('a', prepared);
  expect(shown()).toEqual([{ name: 'claim:gpu', resources: [{ resourceID: 'a.test/gpu=d0', health: 'Unknown' }] }]);
  const hot = { ...device, health: 'Unhealthy' as const, healthMessage: 'hot' };
  await node.claimsOf('a', [{ name: 'g', uid: 'u', drivers: [{ driver: 'a.test', devices: [hot] }] }]);
  const resources = [{ resourceID: 'a.test/gpu=d0', health: 'Unhealthy', message: 'hot' }];
  expect(shown()).toEqual([{ name: 'claim:gpu', resources }]);
});

test('a pod without claims asks nobody', async () => {
  await node.work(podOf('a'));
  await node.work(podOf('a'), { work: 'kill' });
  expect(node.claimed).toEqual([]);
});
