import { beforeEach, expect, test } from '@jest/globals';
import { ScriptedNode, podOf } from './scripted-node.ts';

const GPU = 'example.com/gpu';

let node: ScriptedNode;

beforeEach(async () => {
  node = new ScriptedNode();
  await node.start();
});

const told = () => node.status('a')?.containerStatuses?.[0]?.allocatedResourcesStatus;

test('the status tells at once how the devices of a container are, and keeps what it said when they are taken back', async () => {
  await node.device(GPU, true);
  await node.work(podOf('a'));
  expect(told()).toBeUndefined();
  await node.deviceOf('a', GPU);
  expect(told()).toEqual([{ name: GPU, resources: [{ resourceID: 'only', health: 'Healthy' }] }]);
  const started = [...node.bridge.done];
  await node.device(GPU, false);
  const sick = [{ name: GPU, resources: [{ resourceID: 'only', health: 'Unhealthy' }] }];
  expect(told()).toEqual(sick);
  await node.device('example.com/other', true);
  await node.deviceOf('a', undefined);
  await node.device(GPU, true);
  expect(told()).toEqual(sick);
  // It is told, and nothing is done.
  expect(node.bridge.done).toEqual(started);
});
