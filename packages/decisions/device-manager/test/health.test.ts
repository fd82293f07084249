import { expect, test } from '@jest/globals';
import { deviceHealth } from '../src/index.ts';

const device = (id: string, healthy: boolean) => ({ id, healthy });

test('deviceHealth lists each container’s devices and their health, as far as it is reported', () => {
  const containers = [
    {
      name: 'one',
      resources: [
        { resource: 'example.com/gpu', devices: [{ id: 'a' }, { id: 'b' }, { id: 'forgotten' }] },
        { resource: 'example.com/nobodys', devices: [{ id: 'x' }] },
      ],
    },
    { name: 'two', resources: [{ resource: 'example.com/gpu', devices: [{ id: 'c' }] }] },
  ];
  const devices = [device('a', true), device('b', false), device('c', true), device('free', false)];
  const health = deviceHealth({ containers }, (name) => (name === 'example.com/gpu' ? { devices } : undefined));
  const [Healthy, Unhealthy] = ['Healthy', 'Unhealthy'];
  expect([...health]).toEqual([
    [
      'one',
      [
        {
          name: 'example.com/gpu',
          resources: [
            { resourceID: 'a', health: Healthy },
            { resourceID: 'b', health: Unhealthy },
            { resourceID: 'forgotten', health: Healthy },
          ],
        },
        { name: 'example.com/nobodys', resources: [{ resourceID: 'x', health: Healthy }] },
      ],
    ],
    ['two', [{ name: 'example.com/gpu', resources: [{ resourceID: 'c', health: Healthy }] }]],
  ]);
});
