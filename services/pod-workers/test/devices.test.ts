import { beforeEach, expect, test } from '@jest/globals';
import { ScriptedNode, podOf } from './scripted-node.ts';

const GPU = 'example.com/gpu';

let node: ScriptedNode;

beforeEach(async () => {
  node = new ScriptedNode();
  await node.start();
});

const deviceHealth = () => node.status('a')?.containerStatuses?.[0]?.allocatedResourcesStatus;

test('the status shows changed device health at once, and keeps the last health when the devices are freed', async () => {
  await node.device(GPU, true);
  await node.work(podOf('a'));
  expect(deviceHealth()).toBeUndefined();
  await node.deviceOf('a', GPU);
  expect(deviceHealth()).toEqual([{ name: GPU, resources: [{ resourceID: 'only', health: 'Healthy' }] }]);
  const started = [...node.bridge.done];
  await node.device(GPU, false);
  const sick = [{ name: GPU, resources: [{ resourceID: 'only', health: 'Unhealthy' }] }];
  expect(deviceHealth()).toEqual(sick);
  await node.device('example.com/other', true);
  await node.deviceOf('a', undefined);
  await node.device(GPU, true);
  expect(deviceHealth()).toEqual(sick);
  // It is published, and no command follows.
  expect(node.bridge.done).toEqual(started);
});

test('a pod that starts nothing twice does not fail for a lost container before its devices have been checked', async () => {
  const resources = { limits: { [GPU]: '1' } };
  await node.work(podOf('a', { restartPolicy: 'Never' }, { resources }));
  expect(node.status('a')?.phase).toBe('Running');
  node.lostProblem = 'its devices are gone, and node-agent ends the pod for it';
  node.bridge.vanish('a');
  await node.quiet();
  expect([node.lost, node.status('a')?.phase]).toEqual([['main'], 'Running']);
  node.lostProblem = undefined;
  await node.pass(2_000);
  expect([node.lost, node.status('a')?.phase]).toEqual([['main', 'main'], 'Failed']);
});

test.each(['Always', 'OnFailure'])('a lost container that starts again is not checked (%s)', async (restartPolicy) => {
  await node.work(podOf('a', { restartPolicy }, { resources: { limits: { [GPU]: '1' } } }));
  node.bridge.vanish('a');
  await node.quiet();
  expect(node.lost).toEqual([]);
});
