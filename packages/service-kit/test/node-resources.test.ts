import { expect, test } from '@jest/globals';
import { availableParallelism, tmpdir } from 'node:os';
import { join } from 'node:path';
import { nodeResources } from '../src/index.ts';
import { allocatable } from '../src/node-resources.ts';

test('what is for pods is what the machine has without what is kept back', () => {
  const capacity = { cpu: '4', memory: '8Gi', 'hugepages-2Mi': '1Gi', pods: '110', 'ephemeral-storage': '1Gi' };
  expect(
    allocatable(capacity, [
      { cpu: '500m', memory: '1Gi' },
      { memory: '512Mi', 'ephemeral-storage': '2Gi' },
    ]),
  ).toEqual({ cpu: '3500m', memory: '5632Mi', 'hugepages-2Mi': '1Gi', pods: '110', 'ephemeral-storage': '0' });
});

test('the machine tells what it has, also before the pods have a folder', () => {
  const pods = { root: join(tmpdir(), 'not', 'made', 'yet'), max: 7 } as Parameters<typeof nodeResources>[0]['pods'];
  const all = nodeResources({ pods, reserved: { system: {}, kube: {}, evictionHard: {} } });
  expect(all).toMatchObject({ cpu: String(availableParallelism()), pods: '7' });
  expect(all['memory']).toMatch(/^\d+(Ki|Mi|Gi)$/);
  expect(all['ephemeral-storage']).toMatch(/^\d+(Ki|Mi|Gi|Ti)$/);
  const reserved = { system: { cpu: '100m' }, kube: { cpu: String(availableParallelism() - 1) }, evictionHard: {} };
  expect(nodeResources({ pods, reserved })['cpu']).toBe('900m');
});
